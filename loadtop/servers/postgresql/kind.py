"""PostgreSQL as a kind of server: a database whose sessions wait for locks, or for a connection."""

from functools import partial

from loadtop.i18n import Message, mean_figure, plain, tr
from loadtop.model import HostSample
from loadtop.rates.metrics import Metric
from loadtop.servers.databases import brief, seen, settings
from loadtop.servers.kind import Json, Kind, Lack, summed
from loadtop.servers.postgresql.record import FIX, NAME, SERVER, PostgresqlStatus

_sum = partial(summed, NAME, PostgresqlStatus)


def _lacks(servers: tuple[PostgresqlStatus, ...], _: HostSample) -> Lack:
    if any(each.hidden for each in servers):
        return Lack(Message("this role cannot see the states of other users' sessions"), fix=FIX.splitlines()[1])
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


POSTGRESQL = Kind(
    *SERVER,
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
    rows=_rows,
    brief=lambda servers: brief(" postgresql {active} active", "active", servers),
    seen=seen,
    lacks=_lacks,
    settings=partial(settings, NAME),
)
