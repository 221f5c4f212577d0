"""The kinds of servers that are watched, and all servers of one machine."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from collectors.apache.collector import ApacheCollector
from collectors.gunicorn.collector import GunicornCollector
from collectors.haproxy.collector import HaproxyCollector
from collectors.kind import Kind
from collectors.machine import Machine
from collectors.mysql.collector import MysqlCollector
from collectors.nginx.collector import NginxCollector
from collectors.php_fpm.collector import FpmCollector
from collectors.postgresql.collector import PostgresqlCollector
from collectors.redis.collector import RedisCollector
from collectors.server_collector import ServerCollector
from collectors.under_test import UnderTest
from collectors.uwsgi.collector import UwsgiCollector
from collectors.waits import Waits
from loadtop.model import HostSample, Role
from loadtop.model.places import port_of

COLLECTORS: tuple[type[ServerCollector[Any]], ...] = (  # every kind of server: one line each
    ApacheCollector,
    NginxCollector,
    FpmCollector,
    UwsgiCollector,
    GunicornCollector,
    HaproxyCollector,
    RedisCollector,
    MysqlCollector,
    PostgresqlCollector,
)

KINDS: tuple[Kind, ...] = tuple(each.kind for each in COLLECTORS)


class Servers:
    """The servers of every kind on one machine: their status pages beside its samples."""

    def __init__(
        self,
        machine: Machine,
        status_urls: Mapping[str, Sequence[str]],
        *,
        find: bool = True,
        target_urls: Sequence[str] = (),
    ) -> None:
        """The arguments are those of :class:`collectors.host.HostCollector`."""
        wanted = find or any(status_urls.get(kind.name) for kind in KINDS if kind.role is Role.WEB)
        machine.prefer(frozenset(map(port_of, target_urls)))
        self._under_test = UnderTest(machine, KINDS, target_urls, active=wanted)
        self._collectors = [
            each(machine, status_urls.get(each.kind.name, ()), self._under_test, find=find) for each in COLLECTORS
        ]
        loaded = target_urls if wanted else ()
        self._waits = Waits(machine, loaded, self._under_test.path, self._under_test.ports, KINDS)

    def start(self, interval_s: float) -> None:
        for collector in self._collectors:
            collector.start(interval_s)

    def ask(self) -> None:
        for collector in self._collectors:
            collector.ask()

    async def look(self, sample: HostSample, most_s: float) -> bool:
        """Look for servers where it is time to. Waits at most ``most_s``, once, until it is known which of several web
        servers is under test. Returns whether others were set aside just now."""
        self._under_test.look()
        for collector in self._collectors:
            if collector.kind.role is Role.WEB:
                collector.look(sample)
        found = await self._under_test.settle(most_s)
        for collector in self._collectors:
            if collector.kind.role is not Role.WEB:
                collector.look(sample)
        return found

    async def settle(self, grace_s: float) -> None:
        """Wait at most ``grace_s`` for pages that usually come at once, and let searches with nothing to read end."""
        await asyncio.sleep(0)
        await asyncio.gather(*(page.settle(grace_s) for collector in self._collectors for page in collector.pages))

    def complete(self, sample: HostSample, uptime_less_monotonic: float) -> HostSample:
        """The sample with what came of the pages. This program's clock and the number give the machine's uptime."""
        read = {each.kind.name: each.collect(sample, uptime_less_monotonic) for each in self._collectors}
        note = self._under_test.note
        noted = (
            replace(found, reason=note) if note and found.collector == "cgroup" and not found.reason else found
            for found in sample.outcomes
        )
        applications = (kind.name for kind in KINDS if kind.role is Role.APPLICATION)
        pools = {str(getattr(each, "address", "")) for name in applications for each in read[name][0] or ()}
        peers, locks, waits = self._waits.collect(sample, pools)
        outcomes = (*noted, *waits, *(outcome for _, outcome in read.values()))
        servers = {name: records for name, (records, _) in read.items() if records}
        return replace(sample, outcomes=outcomes, servers=servers, peers=peers, locks=locks)

    async def close(self) -> None:
        await self._under_test.close()
        await self._waits.close()
        await asyncio.gather(*(collector.close() for collector in self._collectors))
