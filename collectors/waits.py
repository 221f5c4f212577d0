"""What the processes under test wait for on one machine: services that they ask over TCP, and file locks."""

from collections.abc import Callable, Collection, Sequence

from collectors.errors import AbsentError
from collectors.linux import locks, peers
from collectors.machine import Machine, Missing, Outcomes
from collectors.places import port_of
from collectors.request_path import RequestPath
from loadtop.model import Cause, FileLock, HostSample, Outcome, Peers


class Waits:
    """Reads with every sample, where the machine has a tested URL. ``server_ports`` are those where servers of known
    kinds listen that are under test. Processes of the groups ``serving`` take requests: only the locks that those
    wait for count. A database has locks of its own, for which its clients do not wait."""

    def __init__(
        self,
        machine: Machine,
        target_urls: Sequence[str],
        path: RequestPath,
        server_ports: Callable[[], Collection[int]],
        serving: Collection[str],
    ) -> None:
        self._machine = machine
        self._path = path
        self._tested = frozenset(map(port_of, target_urls))
        self._server_ports = server_ports
        self._serving = frozenset(serving)
        self._counters = peers.PeerCounters()
        if target_urls:
            machine.follow(peers.CLOCKS)
            machine.follow(locks.LOCKS)

    def collect(self, sample: HostSample) -> tuple[Peers | None, tuple[FileLock, ...] | None, tuple[Outcome, ...]]:
        """The peers, the locks, and how both readings fared; nothing without a tested URL."""
        if not self._tested:
            return None, None, ()
        run = Outcomes()
        found = run.collect("peers", self._peers)
        waited_for = run.collect("locks", lambda: self._locks(sample))
        return found, waited_for, tuple(run.found)

    def _peers(self) -> Peers:
        """Of the processes under test, where these are known; else of the users to whom they belong."""
        clocks = peers.parse(self._text(peers.CLOCKS))
        if self._path.settled or self._path.asked:
            chosen = peers.at_places(clocks, self._path.asked)
        elif peers.only_root_serves(clocks, self._tested):
            raise AbsentError("only root can read which processes own these connections", cause=Cause.ROOT)
        else:
            on_the_way = ("php-fpm",) if self._machine.tested("php-fpm") else ()
            chosen = peers.of_users(clocks, self._tested, self._server_ports(), on_the_way)
        return self._counters.update(clocks, chosen, self._path.listeners, self._path.own_services)

    def _locks(self, sample: HostSample) -> tuple[FileLock, ...]:
        processes = sample.processes or ()
        tested = {process.pid for process in processes if process.group in self._serving}
        return locks.parse(self._text(locks.LOCKS), tested, {process.pid: process.name for process in processes})

    def _text(self, path: str) -> str:
        text = self._machine.followed(path)
        if isinstance(text, Missing):
            raise AbsentError(text.at(path))
        return text
