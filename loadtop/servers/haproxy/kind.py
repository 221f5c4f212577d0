"""HAProxy as a kind of server."""

from collections.abc import Sequence

from loadtop.diagnosis.forecast import Use
from loadtop.i18n import Message, listed, mean_figure, plain, tr
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.haproxy.record import BACKEND, FRONTEND, GROUP, NAME, HaproxyProxy
from loadtop.servers.haproxy.verdict import HAPROXY_QUEUE
from loadtop.servers.kind import Json, Kind, Report


def _queue(host: HostView) -> float | None:
    return sum_known(each.reading.queue for each in host.servers(NAME, HaproxyProxy) if each.reading.is_backend)


def _sessions(host: HostView) -> float | None:
    return sum_known(each.reading.sessions for each in host.servers(NAME, HaproxyProxy) if each.reading.is_frontend)


def _demands(_: Measured, host: HostView, __: bool) -> dict[str, Use]:
    readings = [each.reading for each in host.servers(NAME, HaproxyProxy)]
    servers = [reading for reading in readings if reading.is_server and reading.session_limit]
    slots = sum(server.session_limit or 0 for server in servers)
    return {HAPROXY_QUEUE.name: Use(sum(server.sessions for server in servers), slots)} if slots else {}


def _seen(lines: tuple[HaproxyProxy, ...]) -> Message:
    backends = [line.proxy for line in lines if line.is_backend]
    names = listed(backends or [Message("none")])
    return Message("{number} lines; backends {names}", number=len(lines), names=names)


def _rows(host: Json) -> list[str]:
    """A row per frontend, per backend, and per server with a queue."""
    return [
        tr(
            "  haproxy  {name}  {queue}sessions {sessions}{limit}  {rate} sessions/s",
            name=f"{plain(line['proxy'])}/{plain(line['server'])}",
            queue="" if line["server"] == FRONTEND else tr("queue {number}  ", number=mean_figure(line["queue"])),
            sessions=mean_figure(line["sessions"]),
            limit="" if line["session_limit"] is None else tr(" of {number}", number=line["session_limit"]),
            rate=mean_figure(line["sessions_s"]),
        )
        for line in host[NAME]
        if line["server"] in (FRONTEND, BACKEND) or (line["queue"] is not None and line["queue"]["max"])
    ]


def _brief(lines: Sequence[ServerRates[HaproxyProxy]]) -> str:
    queued = sum(each.reading.queue or 0 for each in lines if each.reading.is_backend)
    return tr(" haproxy queue {number}", number=queued) if queued else ""


HAPROXY = Kind(
    name=NAME,
    group=GROUP,
    role=Role.PROXY,
    title="HAProxy",
    record=HaproxyProxy,
    metrics=(
        Metric("haproxy.queue", "HAProxy queue", "", 0, "lower", _queue),
        Metric("haproxy.sessions", "HAProxy sessions", "", 0, "neither", _sessions),
    ),
    verdicts=(HAPROXY_QUEUE,),
    demands=_demands,
    report=Report(rows=_rows, brief=_brief, settings=lambda _: ()),
    seen=_seen,
)
