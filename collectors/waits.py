"""What the processes under test wait for on one machine: services that they ask, and file locks."""

import contextlib
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from collectors.background import Search
from collectors.errors import AbsentError, TransportError
from collectors.kind import Kind
from collectors.linux import locks, peers
from collectors.machine import Machine, Missing, Outcomes, Wanted
from collectors.request_path import RequestPath
from loadtop.model import SERVICE, SERVING, Cause, FileLock, HostSample, Outcome, Peers, Role
from loadtop.model.places import port_of

SOON_S = 0.5  # between looks for the file of a lock, while one is not known
MOST_FILES = 256  # that are remembered, or known not to be found
MOST_LOOKS = 5  # for one file: what cannot be read now will not be later


class LockedFiles:
    """Finds the paths of locked files among the files that those have open who hold the lock or wait for it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._paths: dict[tuple[str, int], str] = {}
        self._looks: dict[tuple[str, int], int] = {}
        self._wanted: tuple[str, int] | None = None
        self._search = Search("locked files", lambda: (), self._look, SOON_S, SOON_S)
        self.finish, self.close = self._search.finish, self._search.close

    def named(self, found: Sequence[FileLock]) -> tuple[FileLock, ...]:
        """The locks with their paths, as far as these are known; the one with the most waiting is looked for."""
        missing = [(lock.device, lock.inode) for lock in found if (lock.device, lock.inode) not in self._paths]
        self._wanted = next((each for each in missing if self._looks.get(each, 0) < MOST_LOOKS), None)
        if self._wanted is not None:
            self._search.go_on(found=False)
        return tuple(replace(lock, path=self._paths.get((lock.device, lock.inode))) for lock in found)

    async def _look(self, _: tuple[int, ...]) -> None:
        if self._wanted is None:
            return
        device, inode = wanted = self._wanted
        self._looks[wanted] = self._looks.get(wanted, 0) + 1
        if len(self._looks) > MOST_FILES:  # the first are the oldest: PHP locks a file for each session
            oldest = next(iter(self._looks))
            del self._looks[oldest]
            self._paths.pop(oldest, None)
        with contextlib.suppress(TransportError):  # the machine's own samples say so
            text = (await self._machine.texts((Wanted(locks.LOCKS),)))[locks.LOCKS]
            holding = locks.open_files(locks.processes_at(text, device, inode) if isinstance(text, str) else ())
            files = locks.parse_open_files((await self._machine.texts((holding,)))[holding.path])
            if inode in files:
                self._paths[wanted] = files[inode]


class Waits:
    """Reads with every sample, where the machine has a tested URL. ``server_ports`` are those where servers of known
    ``kinds`` listen that are under test. Only locks count that processes wait for which take requests: a database has
    internal locks, for which its clients do not wait."""

    def __init__(
        self,
        machine: Machine,
        target_urls: Sequence[str],
        path: RequestPath,
        server_ports: Callable[[], Collection[int]],
        kinds: Sequence[Kind],
    ) -> None:
        self._machine = machine
        self._path = path
        self._tested = frozenset(map(port_of, target_urls))
        self._server_ports = server_ports
        self._kinds = kinds
        self._serving = {SERVICE, *(kind.group for kind in kinds if kind.role in SERVING)}
        self._files = LockedFiles(machine)
        self.close = self._files.close
        self._counters = peers.PeerCounters((*(kind.service for kind in kinds), *peers.SERVICES))
        if target_urls:
            machine.follow(peers.CLOCKS)
            machine.follow(locks.LOCKS)

    def collect(
        self, sample: HostSample, pools: Collection[str] = ()
    ) -> tuple[Peers | None, tuple[FileLock, ...] | None, tuple[Outcome, ...]]:
        """The peers, the locks, and how both readings fared; nothing without a tested URL. Application ``pools`` at
        these addresses take requests themselves and are no peers."""
        if not self._tested:
            return None, None, ()
        run = Outcomes()
        found = run.collect("peers", lambda: self._peers(pools))
        waited_for = run.collect("locks", lambda: self._locks(sample))
        return found, waited_for, tuple(run.found)

    def _peers(self, pools: Collection[str]) -> Peers:
        """Of the processes under test, where these are known; else of the users to whom they belong."""
        clocks = peers.parse(self._text(peers.CLOCKS))
        if self._path.settled or self._path.asked:
            chosen = peers.at_places(clocks, self._path.asked)
        elif peers.only_root_serves(clocks, self._tested):
            raise AbsentError("only root can see which processes own these connections", cause=Cause.ROOT)
        else:
            pool_kinds = (kind for kind in self._kinds if kind.role is Role.APPLICATION)
            on_the_way = [kind.service for kind in pool_kinds if self._machine.tested(kind.group)]
            chosen = peers.of_users(clocks, self._tested, self._server_ports(), on_the_way)
            chosen = {peering: depth for peering, depth in chosen.items() if str(peering[0]) not in pools}
        return self._counters.update(clocks, chosen, self._path.listeners, self._path.own_services)

    def _locks(self, sample: HostSample) -> tuple[FileLock, ...]:
        processes = sample.processes or ()
        tested = {process.pid for process in processes if process.group in self._serving}
        names = {process.pid: process.name for process in processes}
        return self._files.named(locks.parse(self._text(locks.LOCKS), tested, names))

    def _text(self, path: str) -> str:
        text = self._machine.followed(path)
        if isinstance(text, Missing):
            raise AbsentError(text.at(path))
        return text
