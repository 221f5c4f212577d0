"""Rows of the text report, and words of a line per interval, about php-fpm, HAProxy and processes of no server."""

from typing import Any

from loadtop.i18n import plain, tr
from loadtop.model import FpmPool
from loadtop.rates.records import HostRates
from loadtop.reports.text import figure, wrapped

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
        rows += wrapped(tr("others   {told} of a core", told=told), "  ")
    return rows


def brief(rates: HostRates) -> str:
    """Pools and HAProxy in a few figures; empty where there is none."""
    words = "".join(_brief_pool(found.pool) for found in rates.fpm or ())
    queued = sum(found.line.queue or 0 for found in rates.haproxy or () if found.line.server == "BACKEND")
    return words + (tr(" haproxy queue {number}", number=queued) if queued else "")


def _brief_pool(pool: FpmPool) -> str:
    most = "" if pool.max_children is None else f"/{pool.max_children}"
    queue = tr(" queue {number}", number=pool.listen_queue) if pool.listen_queue else ""
    active = tr("silent") if pool.active is None and pool.silent_s else figure(pool.active)
    return f" {plain(pool.pool)} {active}{most}{queue}"


def _pool(pool: Json) -> str:
    return tr(
        "  php-fpm  {pool}  active {active} of {all} children  queue {queue}  {rate} requests/s",
        pool=plain(pool["pool"]),
        active=_mean(pool["active"]),
        all=tr("an unknown number of") if pool["max_children"] is None else pool["max_children"],
        queue=_mean(pool["listen_queue"]),
        rate=_mean(pool["requests_s"]),
    )


def _line(line: Json) -> str:
    queue = "" if line["server"] == "FRONTEND" else tr("queue {number}  ", number=_mean(line["queue"]))
    return tr(
        "  haproxy  {name}  {queue}sessions {sessions}{limit}  {rate} sessions/s",
        name=f"{plain(line['proxy'])}/{plain(line['server'])}",
        queue=queue,
        sessions=_mean(line["sessions"]),
        limit="" if line["session_limit"] is None else tr(" of {number}", number=line["session_limit"]),
        rate=_mean(line["sessions_s"]),
    )


def _mean(statistic: Json | None) -> str:
    return figure(None if statistic is None else statistic["mean"])


def _most(statistic: Json | None) -> float:
    return 0.0 if statistic is None else statistic["max"]
