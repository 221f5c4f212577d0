"""MySQL and MariaDB as a kind of server: a database whose sessions wait for row locks, or for a connection."""

from functools import partial

from loadtop.i18n import Message, mean_figure, plain, tr
from loadtop.model import HostSample
from loadtop.rates.metrics import Metric
from loadtop.servers.databases import brief, seen, settings
from loadtop.servers.kind import Json, Kind, Lack, summed
from loadtop.servers.mysql.record import FIX, NAME, SERVER, MysqlStatus

_sum = partial(summed, NAME, MysqlStatus)


def _lacks(servers: tuple[MysqlStatus, ...], _: HostSample) -> Lack:
    if any(each.blockers_hidden for each in servers):
        return Lack(Message("this account cannot see which session blocks others"), fix=FIX)
    return Lack()


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  mysql    {address}  {rate} queries/s  running {running}  lock waits {waits}  sessions {sessions}{limit}",
            address=plain(each["address"] or "-"),
            rate=mean_figure(each["queries_s"]),
            running=mean_figure(each["running"]),
            waits=mean_figure(each["lock_waits"]),
            sessions=mean_figure(each["connected"]),
            limit="" if each["max_connections"] is None else tr(" of {number}", number=each["max_connections"]),
        )
        for each in host[NAME]
    ]


MYSQL = Kind(
    *SERVER,
    title="MySQL",
    record=MysqlStatus,
    metrics=(
        Metric("mysql.queries_s", "MySQL queries", "/s", "higher", _sum("questions")),
        Metric("mysql.running", "MySQL running sessions", "", "lower", _sum("running")),
        Metric("mysql.connected", "MySQL sessions", "", "neither", _sum("connected")),
        Metric("mysql.lock_waits", "MySQL row lock waits", "", "lower", _sum("lock_waits")),
        Metric("mysql.lock_ms_s", "MySQL time in row locks", "ms/s", "lower", _sum("lock_ms")),
        Metric("mysql.slow_queries_s", "MySQL slow queries", "/s", "lower", _sum("slow_queries")),
    ),
    rows=_rows,
    brief=lambda servers: brief(" mysql {running} running", "running", servers),
    seen=seen,
    lacks=_lacks,
    settings=partial(settings, NAME),
)
