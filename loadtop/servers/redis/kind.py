"""Redis as a kind of server: a cache whose one thread executes every command."""

from collections.abc import Sequence
from functools import partial

from loadtop.i18n import mean_figure, plain, tr
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import Metric
from loadtop.rates.records import ServerRates
from loadtop.servers.databases import seen, settings
from loadtop.servers.kind import Json, Kind, summed
from loadtop.servers.redis.record import NAME, SERVER, RedisStatus

_sum = partial(summed, NAME, RedisStatus)


def _busiest(host: HostView) -> float | None:
    known = (each.per_second["cpu"] for each in host.servers(NAME, RedisStatus))
    return max((share for share in known if share is not None), default=None)


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  redis    {address}  {rate} commands/s  thread {cpu} % busy  clients {clients}{limit}  blocked {blocked}",
            address=plain(each["address"] or "-"),
            rate=mean_figure(each["commands_s"]),
            cpu=mean_figure(each["cpu_pct"]),
            clients=mean_figure(each["clients"]),
            limit="" if each["max_clients"] is None else tr(" of {number}", number=each["max_clients"]),
            blocked=mean_figure(each["blocked"]),
        )
        for each in host[NAME]
    ]


def _brief(servers: Sequence[ServerRates[RedisStatus]]) -> str:
    known = [rate for each in servers if (rate := each.per_second["commands"]) is not None]
    return tr(" redis {rate:.0f}/s", rate=sum(known)) if known else ""


REDIS = Kind(
    *SERVER,
    title="Redis",
    record=RedisStatus,
    metrics=(
        Metric("redis.commands_s", "Redis commands", "/s", "higher", _sum("commands")),
        Metric("redis.cpu_pct", "CPU of Redis's thread", "%", "lower", _busiest),
        Metric("redis.clients", "Redis clients", "", "neither", _sum("clients")),
        Metric("redis.blocked", "Redis blocked clients", "", "neither", _sum("blocked")),
        Metric("redis.slowlog", "Redis slow log", "", "lower", _sum("slowlog")),
    ),
    rows=_rows,
    brief=_brief,
    seen=seen,
    settings=partial(settings, NAME),
)
