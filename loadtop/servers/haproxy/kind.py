"""HAProxy as a kind of server. Its verdict: requests wait for a slot of a server, or for the frontend to take them."""

from collections.abc import Sequence

from loadtop.diagnosis.forecast import Use
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds
from loadtop.diagnosis.waiting import backs_up
from loadtop.i18n import Message, listed, mean_figure, plain, plural, sentences, tr
from loadtop.model import Role
from loadtop.model.server import FULL_PCT
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.haproxy.record import BACKEND, FRONTEND, NAME, SERVER, HaproxyProxy
from loadtop.servers.kind import Json, Kind

QUEUE = 0  # requests queued in a backend: awesome-prometheus-alerts warns of any that stay for 2 minutes

FRONTEND_CLEAR_PCT = 85.0
"""Percent of a frontend's maxconn: Linuxfabrik's critical value; cleared at 85. Above it the kernel's queue fills."""


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """Requests queue in a backend, or a frontend has all its connections."""
    lines = [each.reading for each in host.servers(NAME, HaproxyProxy)]
    queues = [line for line in lines if not line.is_frontend and line.queue is not None]
    longest = max(queues, key=lambda line: (line.queue or 0, line.is_backend), default=None)
    # One connection to a frontend may be the one that asks for these statistics.
    fronts = [line for line in lines if line.is_frontend and line.session_limit and line.sessions > 1]
    front = max(fronts, key=lambda line: line.full or 0.0, default=None)
    if longest is not None and (longest.queue or front is None or (front.full or 0.0) < FRONTEND_CLEAR_PCT):
        return _queued(measured, longest, lines)
    return None if front is None else _fronted(front)


def _queued(measured: Measured, line: HaproxyProxy, lines: Sequence[HaproxyProxy]) -> Assessment:
    servers = [each for each in lines if each.proxy == line.proxy and each.is_server and each.is_up]
    slots = sum(server.session_limit or 0 for server in servers)
    busy = sum(server.sessions for server in servers)
    queue = line.queue or 0
    flying = measured.in_flight
    return Assessment(
        over=queue > QUEUE and backs_up(measured, busy),
        held=queue > QUEUE,
        evidence=(
            Row("haproxy.queue", queue, QUEUE, "requests", "awesome-prometheus-alerts: above 0"),
            Row("haproxy.sessions", busy if slots else None, slots, "sessions", "HAProxy: maxconn of servers"),
            Row("haproxy.queue_ms", line.queue_ms, 0, "ms", "HAProxy: qtime"),
        ),
        advice=lambda: _advice(line, servers, busy, slots),
        confidence=agreement(busy >= slots if slots else None, exceeds(flying, queue)),
    )


def _advice(line: HaproxyProxy, servers: Sequence[HaproxyProxy], busy: int, slots: int) -> Message:
    queue = line.queue or 0
    waiting = plural(
        queue,
        "{n} request is waiting in HAProxy's backend {backend}.",
        "{n} requests are waiting in HAProxy's backend {backend}.",
        backend=line.proxy,
    )
    if not slots:
        return sentences(Message("Add servers."), waiting)
    taken = plural(
        len(servers),
        "{busy} of {slots} slots of its server are in use.",
        "{busy} of {slots} slots of its {n} servers are in use.",
        busy=busy,
        slots=slots,
    )
    wanted = -(-(busy + queue) // max(1, len(servers)))
    more = Message(
        "Raise maxconn to about {wanted} per server if the servers can handle it, or add servers.", wanted=wanted
    )
    return sentences(more, waiting, taken)


def _fronted(front: HaproxyProxy) -> Assessment:
    share, most = front.full or 0.0, front.session_limit or 0
    return Assessment(
        over=share >= FULL_PCT,
        held=share >= FRONTEND_CLEAR_PCT,
        evidence=(
            Row("haproxy.full_pct", share, FULL_PCT, "%", "Linuxfabrik monitoring plugins: 95 % of maxconn"),
            Row("haproxy.sessions", front.sessions, most, "sessions", "HAProxy: maxconn"),
        ),
        advice=Message(
            "Raise maxconn of HAProxy's frontend {frontend} (and the global maxconn) above {most}: all connections "
            "are in use.",
            frontend=front.proxy,
            most=most,
        ),
        confidence=agreement(front.sessions >= most),
    )


HAPROXY_QUEUE = Verdict(
    name="haproxy-queue",
    letter="Q",
    title="HAProxy queue",
    sentence="HAProxy's queue is the limit",
    headline="is the limit",
    family=Family.POOL,
    role=Role.PROXY,
    of_host=_assess,
    titles={
        "haproxy.queue": "HAProxy queue",
        "haproxy.queue_ms": "time in queue",
        "haproxy.sessions": "HAProxy sessions",
        "haproxy.full_pct": "frontend connections in use",
    },
)


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
    return Message("{number} rows of statistics; backends {names}", number=len(lines), names=names)


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
    *SERVER,
    title="HAProxy",
    record=HaproxyProxy,
    metrics=(
        Metric("haproxy.queue", "HAProxy queue", "", "lower", _queue),
        Metric("haproxy.sessions", "HAProxy sessions", "", "neither", _sessions),
    ),
    verdicts=(HAPROXY_QUEUE,),
    demands=_demands,
    rows=_rows,
    brief=_brief,
    seen=_seen,
)
