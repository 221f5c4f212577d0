"""The accept queue of the server's port: it overflows when connections come in bursts larger than its backlog."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message, sentences
from loadtop.model import Listener
from loadtop.rates.measured import HostView, Measured

NAME = "listen-queue"

OVERFLOWS_S = 0.0
"""Connections per second that found the queue full. PCP's tcplistenoverflows: any."""


DEFAULT_BACKLOG = 511
"""The default of the common web servers."""


def assess(measured: Measured, host: HostView) -> Assessment | None:
    """``listen-queue`` for one machine. The kernel counts overflows of all ports together: where the tested one's queue
    is empty, and another's is full now or its own has room for all requests in flight, they are the other's."""
    rates, sample = host.rates, host.sample
    if rates is None or rates.tcp is None or rates.tcp.listen_overflows is None or sample is None:
        return None
    overflows = rates.tcp.listen_overflows
    listeners = () if sample.tcp is None else sample.tcp.listeners
    port = None if measured.load is None or measured.load.server is None else measured.load.server.port
    own = next((each for each in listeners if each.port == port), None)
    others = [each for each in listeners if each.port != port and _is_full(each)]
    queue, room = (None, 0) if own is None else (own.queue, own.backlog or 0)
    ours = own is None or own.queue > 0 or not (others or _has_room(measured, own))
    return Assessment(
        NAME,
        host.name,
        over=overflows > OVERFLOWS_S and ours,
        held=overflows > OVERFLOWS_S and ours,
        evidence=evidence_of(
            host.name,
            ("tcp.listen_overflows_s", overflows, OVERFLOWS_S, "/s", "PCP tcplistenoverflows: any"),
            ("tcp.accept_queue", queue, room, "conn", "ss -ltn: Recv-Q, Send-Q"),
            ("tcp.listen_drops_s", rates.tcp.listen_drops, 0, "/s", "netdata: over 1/s"),
        ),
        advice=lambda: _advice(measured, own),
        confidence=agreement(None if own is None else _is_full(own), exceeds(queue, 0)),
    )


def _has_room(measured: Measured, own: Listener) -> bool:
    load = measured.load
    return load is not None and load.in_flight is not None and load.in_flight <= (own.backlog or 0)


def _is_full(listener: Listener) -> bool:
    """Linux takes one connection more than the backlog (inet_csk_reqsk_queue, sk_acceptq_is_full)."""
    return listener.backlog is not None and listener.queue >= listener.backlog > 0


def _advice(measured: Measured, own: Listener | None) -> Message:
    load = measured.load
    refused = Message("Connections are refused by a full accept queue, and their clients try again after 1 s.")
    if own is not None and own.backlog:
        refused = Message(
            "Connections are refused by the full accept queue of port {port} (room for {backlog}), and their clients "
            "try again after 1 s.",
            port=own.port,
            backlog=own.backlog,
        )
    if load is None or load.concurrency is None:
        return sentences(refused, Message("Raise ListenBacklog and net.core.somaxconn, or let more workers accept."))
    raised = Message(
        "Raise ListenBacklog and net.core.somaxconn to {wanted}, or let more workers accept.",
        wanted=max(DEFAULT_BACKLOG, 2 * load.concurrency),
    )
    return sentences(refused, raised)


LISTEN_QUEUE = Verdict(
    name=NAME,
    letter="L",
    title="LISTEN QUEUE",
    sentence="The accept queue is the limit",
    headline="overflows",
    family=Family.POOL,
    explains=("waiting",),
    of_host=assess,
    titles={
        "tcp.listen_overflows_s": "queue overflows",
        "tcp.listen_drops_s": "connections dropped",
        "tcp.accept_queue": "accept queue",
    },
)
