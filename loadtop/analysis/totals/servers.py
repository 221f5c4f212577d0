"""The pools of php-fpm and the lines of HAProxy on one machine over a whole test."""

from typing import Any

from loadtop.analysis.statistic import Statistic
from loadtop.rates.measured import HostView
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool

Json = dict[str, Any]

_POOL = ("active", "idle", "total", "listen_queue", "requests_s", "max_children_reached_s")
_LINE = ("queue", "sessions", "sessions_s", "requests_s", "http_5xx_s", "queue_ms", "response_ms")


class ServerTotals:
    """Adds up every interval of the servers behind or before Apache. One that comes later is there from then on."""

    def __init__(self) -> None:
        self._pools: dict[str, tuple[FpmPool, dict[str, Statistic]]] = {}
        self._lines: dict[tuple[str, str], tuple[HaproxyProxy, dict[str, Statistic]]] = {}

    def add(self, host: HostView) -> None:
        """Count one interval."""
        rates = host.rates
        if rates is None:
            return
        for found in PHP_FPM.rates(rates):
            pool = found.reading
            known = self._pools.get(pool.pool)
            statistics = {name: Statistic() for name in _POOL} if known is None else known[1]
            self._pools[pool.pool] = (pool, statistics)
            values = (
                pool.active,
                pool.idle,
                pool.total,
                pool.listen_queue,
                found.per_second["accepted"],
                found.per_second["max_children_reached"],
            )
            for name, value in zip(_POOL, values, strict=True):
                statistics[name].add(value)
        for each in HAPROXY.rates(rates):
            line = each.reading
            before = self._lines.get((line.proxy, line.server))
            statistics = {name: Statistic() for name in _LINE} if before is None else before[1]
            self._lines[line.proxy, line.server] = (line, statistics)
            rated = (each.per_second[name] for name in ("sessions_total", "requests_total", "http_5xx"))
            gauges = (line.queue, line.sessions, *rated)
            for name, value in zip(_LINE, (*gauges, line.queue_ms, line.response_ms), strict=True):
                statistics[name].add(value)

    def as_json(self) -> Json:
        """``fpm`` and ``haproxy`` of the machine's entry in the JSON summary: limits are those read last."""
        return {
            "fpm": [
                {
                    "pool": pool.pool,
                    "manager": pool.manager or None,
                    "address": pool.address or None,
                    "max_children": pool.max_children,
                    "listen_queue_limit": pool.listen_queue_limit,
                    **{name: statistic.as_json() for name, statistic in statistics.items()},
                }
                for pool, statistics in self._pools.values()
            ],
            "haproxy": [
                {
                    "proxy": line.proxy,
                    "server": line.server,
                    "status": line.status or None,
                    "session_limit": line.session_limit,
                    "queue_limit": line.queue_limit,
                    **{name: statistic.as_json() for name, statistic in statistics.items()},
                }
                for line, statistics in self._lines.values()
            ],
        }
