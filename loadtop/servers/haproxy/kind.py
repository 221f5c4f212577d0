"""HAProxy as a kind of server."""

from collections.abc import Callable

from loadtop.diagnosis.forecast import Use
from loadtop.i18n import Message, listed
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.servers.checks import Checks
from loadtop.servers.haproxy.record import BACKEND, FRONTEND, GROUP, NAME, HaproxyProxy
from loadtop.servers.haproxy.report import REPORT
from loadtop.servers.haproxy.verdict import HAPROXY_QUEUE
from loadtop.servers.kind import Kind, StatusOption


def _sum(server: str, read: Callable[[HaproxyProxy], float | None]) -> Callable[[HostView], float | None]:

    def value(host: HostView) -> float | None:
        lines = () if host.rates is None else host.rates.of_kind(NAME, HaproxyProxy)
        return sum_known(read(each.reading) for each in lines if each.reading.server == server)

    return value


def _demands(_: Measured, host: HostView, __: bool) -> dict[str, Use]:
    lines = () if host.rates is None else host.rates.of_kind(NAME, HaproxyProxy)
    servers = [each.reading for each in lines if each.reading.is_server and each.reading.session_limit]
    slots = sum(server.session_limit or 0 for server in servers)
    return {HAPROXY_QUEUE.name: Use(sum(server.sessions for server in servers), slots)} if slots else {}


def _seen(lines: tuple[HaproxyProxy, ...]) -> Message:
    names = [line.proxy for line in lines if line.is_backend]
    backends = listed(names) if names else Message("none")
    return Message("{number} lines; backends {names}", number=len(lines), names=backends)


HAPROXY = Kind(
    name=NAME,
    group=GROUP,
    role=Role.PROXY,
    title="HAProxy",
    record=HaproxyProxy,
    option=StatusOption(
        "statistics page or stats socket of HAProxy",
        "http://HOST:PORT/stats or unix:/run/haproxy/admin.sock",
        r"https?://.+|tcp://[^/]+:\d+/?|(?:unix:(?://)?)?/(?!/).+",
    ),
    metrics=(
        Metric("haproxy.queue", "HAProxy queue", "", 0, "lower", _sum(BACKEND, lambda line: line.queue)),
        Metric("haproxy.sessions", "HAProxy sessions", "", 0, "neither", _sum(FRONTEND, lambda line: line.sessions)),
    ),
    verdicts=(HAPROXY_QUEUE,),
    demands=_demands,
    report=REPORT,
    checks=Checks(_seen),
)
