"""MySQL and MariaDB as a kind of server: a database whose sessions wait for row locks, or for a connection."""

from collections.abc import Callable, Sequence

from loadtop.i18n import Message, Text, listed, mean_figure, plain, tr
from loadtop.model import Role
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind
from loadtop.servers.mysql.record import GROUP, NAME, MysqlStatus


def _sum(field: str) -> Callable[[HostView], float | None]:
    """The gauge or the rate of this field, over all servers."""

    def read(server: ServerRates[MysqlStatus]) -> float | None:
        value: float | None = getattr(server.reading, field)
        return server.per_second.get(field, value)

    return lambda host: sum_known(map(read, host.servers(NAME, MysqlStatus)))


def _seen(servers: tuple[MysqlStatus, ...]) -> Text:
    return listed(
        [
            Message(
                "{version}, max_connections {limit} ({address})",
                version=each.version or "-",
                limit="-" if each.max_connections is None else each.max_connections,
                address=each.address,
            )
            for each in servers
        ]
    )


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


def _brief(servers: Sequence[ServerRates[MysqlStatus]]) -> str:
    waits = sum(each.reading.lock_waits or 0 for each in servers)
    known = [running for each in servers if (running := each.reading.running) is not None]
    locked = tr(" lock waits {number}", number=waits) if waits else ""
    return tr(" mysql {running} running", running=sum(known)) + locked if known else ""


MYSQL = Kind(
    name=NAME,
    group=GROUP,
    role=Role.DATABASE,
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
    verdicts=(),
    demands=lambda _, __, ___: {},
    rows=_rows,
    brief=_brief,
    seen=_seen,
    settings=lambda servers: (
        (f"mysql {plain(each.address)} max_connections", str(each.max_connections))
        for each in servers
        if each.max_connections is not None
    ),
)
