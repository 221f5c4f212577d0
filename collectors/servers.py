"""The servers of one machine: their status pages beside its samples."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from collectors.apache.collector import ApacheWatch
from collectors.haproxy.collector import HaproxyWatch
from collectors.machine import Machine
from collectors.php_fpm.collector import FpmWatch
from loadtop.model import HostSample


@dataclass(frozen=True, slots=True)
class StatusUrls:
    """Status pages that the user gave for one machine; where there is none of a kind, they are looked for."""

    apache: Sequence[str] = ()
    fpm: Sequence[str] = ()
    haproxy: Sequence[str] = ()


class ServerWatch:
    """Apache, php-fpm and HAProxy on one machine. ``find`` and ``target_urls`` as for HostCollector."""

    def __init__(
        self, machine: Machine, urls: StatusUrls, *, find: bool = True, target_urls: Sequence[str] = ()
    ) -> None:
        self._apache = ApacheWatch(machine, urls.apache, find=find, target_urls=target_urls)
        self._fpm = FpmWatch(machine, urls.fpm, find=find, target_urls=target_urls)
        self._haproxy = HaproxyWatch(machine, urls.haproxy, find=find)
        self._all = (self._apache, self._fpm, self._haproxy)

    def start(self, interval_s: float) -> None:
        for watch in self._all:
            watch.start(interval_s)

    def ask(self) -> None:
        """Ask for every page that is followed, at the moment of a sample."""
        for watch in self._all:
            watch.ask()

    async def look(self, sample: HostSample, most_s: float) -> bool:
        """Look for servers, where it is time to, beside the newest sample. Waits at most ``most_s``, once, until it is
        known which of several web servers is under test; returns whether others were set aside just now."""
        self._apache.look(sample)
        found = await self._apache.settle_tested(most_s)
        self._fpm.look()
        self._haproxy.look()
        return found

    async def settle(self, grace_s: float) -> None:
        """Wait at most ``grace_s`` for pages that usually come at once, and let a search end that has nothing to read:
        what it gives up belongs to no sample any more."""
        await asyncio.sleep(0)
        awaited = [page for watch in self._all for page in watch.pages if page.awaited]
        if awaited:
            await asyncio.gather(*(page.settle(grace_s) for page in awaited))

    def complete(self, sample: HostSample, uptime_less_monotonic: float) -> HostSample:
        """The sample with what came of the pages, and how that went. The number turns the time of this program's clock
        into the machine's uptime, on which each status is dated."""
        apache, of_apache = self._apache.collect(uptime_less_monotonic)
        fpm, of_fpm = self._fpm.collect(sample, uptime_less_monotonic)
        haproxy, of_haproxy = self._haproxy.collect(uptime_less_monotonic)
        note = self._apache.note
        noted = (
            replace(found, reason=note) if note and found.collector == "cgroup" and not found.reason else found
            for found in sample.outcomes
        )
        outcomes = (*noted, of_apache, of_fpm, of_haproxy)
        found = {"apache": apache, "fpm": fpm, "haproxy": haproxy}
        servers = {name: readings for name, readings in found.items() if readings is not None}
        return replace(sample, servers=servers, outcomes=outcomes)

    async def close(self) -> None:
        await asyncio.gather(*(watch.close() for watch in self._all))
