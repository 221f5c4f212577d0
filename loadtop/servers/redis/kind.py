"""Redis as a kind of server: a cache whose one thread executes every command."""

from collections.abc import Callable, Sequence

from loadtop.i18n import Message, Text, listed, mean_figure, plain, tr
from loadtop.model import Role
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind
from loadtop.servers.redis.record import GROUP, NAME, RedisStatus


def _sum(read: Callable[[ServerRates[RedisStatus]], float | None]) -> Callable[[HostView], float | None]:
    return lambda host: sum_known(map(read, host.servers(NAME, RedisStatus)))


def _busiest(host: HostView) -> float | None:
    known = (each.per_second["cpu"] for each in host.servers(NAME, RedisStatus))
    return max((share for share in known if share is not None), default=None)


def _seen(servers: tuple[RedisStatus, ...]) -> Text:
    return listed(
        [
            Message(
                "Redis {version}, maxclients {limit} ({address})",
                version=each.version or "-",
                limit="-" if each.max_clients is None else each.max_clients,
                address=each.address,
            )
            for each in servers
        ]
    )


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
    name=NAME,
    group=GROUP,
    role=Role.CACHE,
    title="Redis",
    record=RedisStatus,
    metrics=(
        Metric("redis.commands_s", "Redis commands", "/s", "higher", _sum(lambda each: each.per_second["commands"])),
        Metric("redis.cpu_pct", "CPU of Redis's thread", "%", "lower", _busiest),
        Metric("redis.clients", "Redis clients", "", "neither", _sum(lambda each: each.reading.clients)),
        Metric("redis.blocked", "Redis blocked clients", "", "neither", _sum(lambda each: each.reading.blocked)),
        Metric("redis.slowlog", "Redis slow log", "", "lower", _sum(lambda each: each.reading.slowlog)),
    ),
    verdicts=(),
    demands=lambda _, __, ___: {},
    rows=_rows,
    brief=_brief,
    seen=_seen,
    settings=lambda servers: (
        (f"redis {plain(each.address)} maxclients", str(each.max_clients))
        for each in servers
        if each.max_clients is not None
    ),
)
