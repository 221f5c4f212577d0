"""PostgreSQL as a kind of server: a database whose sessions wait for locks, or for a connection."""

from collections.abc import Callable, Sequence

from loadtop.i18n import Message, Text, listed, mean_figure, plain, tr
from loadtop.model import HostSample, Role
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, Lack
from loadtop.servers.postgresql.record import FIX, GROUP, NAME, PostgresqlStatus


def _sum(field: str) -> Callable[[HostView], float | None]:
    """The gauge or the rate of this field, over all servers."""

    def read(server: ServerRates[PostgresqlStatus]) -> float | None:
        value: float | None = getattr(server.reading, field)
        return server.per_second.get(field, value)

    return lambda host: sum_known(map(read, host.servers(NAME, PostgresqlStatus)))


def _seen(servers: tuple[PostgresqlStatus, ...]) -> Text:
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


def _lacks(servers: tuple[PostgresqlStatus, ...], _: HostSample) -> Lack:
    if any(each.hidden for each in servers):
        return Lack(Message("the states of other users' sessions are hidden from this role"), fix=FIX.splitlines()[1])
    return Lack()


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  postgres {address}  {rate} transactions/s  active {active}  lock waits {waits}  sessions {all}{limit}",
            address=plain(each["address"] or "-"),
            rate=mean_figure(each["transactions_s"]),
            active=mean_figure(each["active"]),
            waits=mean_figure(each["lock_waits"]),
            all=mean_figure(each["connected"]),
            limit="" if each["max_connections"] is None else tr(" of {number}", number=each["max_connections"]),
        )
        for each in host[NAME]
    ]


def _brief(servers: Sequence[ServerRates[PostgresqlStatus]]) -> str:
    waits = sum(each.reading.lock_waits or 0 for each in servers)
    known = [active for each in servers if (active := each.reading.active) is not None]
    locked = tr(" lock waits {number}", number=waits) if waits else ""
    return tr(" postgresql {active} active", active=sum(known)) + locked if known else ""


POSTGRESQL = Kind(
    name=NAME,
    group=GROUP,
    role=Role.DATABASE,
    title="PostgreSQL",
    record=PostgresqlStatus,
    metrics=(
        Metric("postgresql.transactions_s", "PostgreSQL transactions", "/s", "higher", _sum("transactions")),
        Metric("postgresql.active", "PostgreSQL active sessions", "", "lower", _sum("active")),
        Metric("postgresql.connected", "PostgreSQL sessions", "", "neither", _sum("connected")),
        Metric(
            "postgresql.idle_in_transaction", "PostgreSQL open transactions", "", "lower", _sum("idle_in_transaction")
        ),
        Metric("postgresql.lock_waits", "PostgreSQL lock waits", "", "lower", _sum("lock_waits")),
        Metric("postgresql.io_waits", "PostgreSQL waits for files", "", "lower", _sum("io_waits")),
    ),
    verdicts=(),
    demands=lambda _, __, ___: {},
    rows=_rows,
    brief=_brief,
    seen=_seen,
    lacks=_lacks,
    settings=lambda servers: (
        (f"postgresql {plain(each.address)} max_connections", str(each.max_connections))
        for each in servers
        if each.max_connections is not None
    ),
)
