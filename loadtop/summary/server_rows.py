"""Rows of the text report, and words of a line per interval, about php-fpm, HAProxy and processes of no server."""

from typing import Any

from loadtop.model import FpmPool
from loadtop.rate_model import HostRates
from loadtop.summary.text import figure, wrapped
from loadtop.words import plain

Json = dict[str, Any]
ENDS = ("FRONTEND", "BACKEND")

MUCH_PCT = 10.0
"""Percent of a core, over the whole test, from which a process that is no server is told of."""


def server_rows(host: Json) -> list[str]:
    """A row per pool, and per frontend, backend and server with a queue of HAProxy, of a machine's JSON summary; and
    one of the other processes that took much of a core."""
    rows = [_pool(pool) for pool in host["fpm"]]
    rows += [_line(line) for line in host["haproxy"] if line["server"] in ENDS or _most(line["queue"])]
    busy = [other for other in host["processes"]["busiest_others"] if other["cpu_pct"]["mean"] >= MUCH_PCT]
    if busy:
        told = ", ".join(
            f"{plain(other['name'])} (pid {other['pid']}) {figure(round(other['cpu_pct']['mean']))} %" for other in busy
        )
        rows += wrapped(f"others   {told} of a core", "  ")
    return rows


def brief(rates: HostRates) -> str:
    """Pools and HAProxy in a few figures; empty where there is none."""
    words = "".join(_brief_pool(found.pool) for found in rates.fpm or ())
    queued = sum(found.line.queue or 0 for found in rates.haproxy or () if found.line.server == "BACKEND")
    return words + (f" haproxy queue {queued}" if queued else "")


def _brief_pool(pool: FpmPool) -> str:
    most = "" if pool.max_children is None else f"/{pool.max_children}"
    queue = f" queue {pool.listen_queue}" if pool.listen_queue else ""
    active = "silent" if pool.active is None and pool.silent_s else figure(pool.active)
    return f" {plain(pool.pool)} {active}{most}{queue}"


def _pool(pool: Json) -> str:
    of = "an unknown number of" if pool["max_children"] is None else pool["max_children"]
    return (
        f"  php-fpm  {plain(pool['pool'])}  active {_mean(pool['active'])} of {of} children  "
        f"queue {_mean(pool['listen_queue'])}  {_mean(pool['requests_s'])} requests/s"
    )


def _line(line: Json) -> str:
    limit = "" if line["session_limit"] is None else f" of {line['session_limit']}"
    queue = "" if line["server"] == "FRONTEND" else f"queue {_mean(line['queue'])}  "
    return (
        f"  haproxy  {plain(line['proxy'])}/{plain(line['server'])}  {queue}"
        f"sessions {_mean(line['sessions'])}{limit}  {_mean(line['sessions_s'])} sessions/s"
    )


def _mean(statistic: Json | None) -> str:
    return figure(None if statistic is None else statistic["mean"])


def _most(statistic: Json | None) -> float:
    return 0.0 if statistic is None else statistic["max"]
