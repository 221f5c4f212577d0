"""HAProxy's queues: requests that wait for a slot of a server, or for the frontend to take them."""

from loadtop.diagnosis.assessment import Assessment, agreement
from loadtop.diagnosis.backlog import backs_up
from loadtop.diagnosis.finding import Bottleneck, Evidence
from loadtop.model import HaproxyProxy
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HaproxyRates

QUEUE = 0
"""Requests queued in a backend: awesome-prometheus-alerts warns of any that stay for 2 minutes."""

FRONTEND_PCT = 95.0
FRONTEND_CLEAR_PCT = 85.0
"""Percent of a frontend's maxconn: Linuxfabrik's critical value; cleared at 85. Above it the kernel's queue fills."""


def assess(measured: Measured, host: HostView) -> Assessment | None:
    """``haproxy-queue`` for one machine: requests queue in a backend, or a frontend has all its connections."""
    lines = None if host.rates is None else host.rates.haproxy
    if not lines:
        return None
    queues = [each for each in lines if each.line.server != "FRONTEND" and each.line.queue is not None]
    longest = max(queues, key=lambda each: (each.line.queue or 0, each.line.server == "BACKEND"), default=None)
    # One connection to a frontend may be the one that asks for these statistics.
    fronts = [each.line for each in lines if each.line.server == "FRONTEND" and each.line.session_limit]
    fronts = [front for front in fronts if front.sessions > 1]
    front = max(fronts, key=_share, default=None)
    if longest is not None and (longest.line.queue or front is None or _share(front) < FRONTEND_CLEAR_PCT):
        return _queued(measured, host, longest, lines)
    return None if front is None else _fronted(host, front)


def _queued(measured: Measured, host: HostView, rates: HaproxyRates, lines: tuple[HaproxyRates, ...]) -> Assessment:
    line = rates.line
    servers = [
        each.line
        for each in lines
        if each.line.proxy == line.proxy and each.line.server not in ("FRONTEND", "BACKEND") and _is_up(each.line)
    ]
    slots = sum(server.session_limit or 0 for server in servers)
    busy = sum(server.sessions for server in servers)
    queue = line.queue or 0
    evidence = [Evidence("haproxy.queue", host.name, queue, QUEUE, "requests", "awesome-prometheus-alerts: any over 0")]
    if slots:
        evidence.append(Evidence("haproxy.sessions", host.name, busy, slots, "sessions", "HAProxy: maxconn of servers"))
    if line.queue_ms is not None:
        evidence.append(Evidence("haproxy.queue_ms", host.name, line.queue_ms, 0, "ms", "HAProxy: qtime"))
    each = -(-(busy + queue) // max(1, len(servers)))
    text = f"{queue} requests queue in HAProxy's backend {line.proxy}"
    if slots:
        text += f" ({busy} of {slots} slots of {len(servers)} server{'s' if len(servers) > 1 else ''} taken): "
        text += f"raise their maxconn to about {each} each as far as they can serve that, or add servers."
    else:
        text += ": add servers."
    load = measured.load
    held = queue > QUEUE
    return Assessment(
        Bottleneck.HAPROXY_QUEUE,
        host.name,
        over=held and backs_up(measured, busy),
        held=held,
        evidence=tuple(evidence),
        advice=text,
        confidence=agreement(
            busy >= slots if slots else None, None if load is None or load.in_flight is None else load.in_flight > queue
        ),
    )


def _fronted(host: HostView, front: HaproxyProxy) -> Assessment:
    share, most = _share(front), front.session_limit or 0
    return Assessment(
        Bottleneck.HAPROXY_QUEUE,
        host.name,
        over=share >= FRONTEND_PCT,
        held=share >= FRONTEND_CLEAR_PCT,
        evidence=(
            Evidence("haproxy.full_pct", host.name, share, FRONTEND_PCT, "%", "Linuxfabrik: 95 % of maxconn"),
            Evidence("haproxy.sessions", host.name, front.sessions, most, "sessions", "HAProxy: maxconn"),
        ),
        advice=f"HAProxy's frontend {front.proxy} takes no more than its {most} connections: raise its maxconn "
        f"(and the global one) above {most}.",
        confidence=agreement(front.sessions >= most),
    )


def _share(front: HaproxyProxy) -> float:
    return 100.0 * front.sessions / front.session_limit if front.session_limit else 0.0


def _is_up(line: HaproxyProxy) -> bool:
    return not line.status.startswith(("DOWN", "MAINT"))
