"""The network: an interface that carries nearly what its line can, and the accept queue of the server's port, which
overflows when connections come in bursts larger than its backlog."""

from typing import NamedTuple

from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds
from loadtop.i18n import Message, Translatable, sentences
from loadtop.model import Listener
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import NetworkRates

UTIL_PCT, UTIL_CLEAR_PCT = 85.0, 75.0  # percent, fuller direction: PCP's pernetif/util 85; cleared at 75

AS_FULL_PCT = 2.0
"""Lines that are so near in utilisation may be two ends of one; our own."""

RETRANSMITS_S = 5.0  # segments per second that were sent again: a vote only; our own

OVERFLOWS_S = 0.0  # connections per second that found the queue full; PCP's tcplistenoverflows: any

DEFAULT_BACKLOG = 511  # the default of the common web servers


def fullest(host: HostView) -> NetworkRates | None:
    """The interface that is nearest to its line's speed, where one is known."""
    return max(_lines(host), key=lambda line: line.util or 0.0, default=None)


def _lines(host: HostView) -> list[NetworkRates]:
    networks = None if host.rates is None else host.rates.networks
    return [line for line in networks or () if line.util is not None]


def _as_full(line: NetworkRates, fullest: float) -> bool:
    """Whether it may be the other end of the fullest line, and is judged alike."""
    util = line.util or 0.0
    return fullest - util <= AS_FULL_PCT and (util > UTIL_PCT) == (fullest > UTIL_PCT)


def _is_set(line: NetworkRates) -> bool:
    """Whether a queueing discipline or a policer sets its rate."""
    return line.possible_mbit != line.link_mbit


class _LineAdvice(NamedTuple):
    """What to do about a full line, by its fuller direction; ``shaped``: a queueing discipline limits what it sends;
    ``policed``: a policer limits what it receives."""

    receives: Translatable
    sends: Translatable
    shaped: Translatable
    policed: Translatable

    def on(self, line: NetworkRates, carried: float) -> Message:
        template, limited = (self.sends, self.shaped) if line.sends else (self.receives, self.policed)
        if _is_set(line):
            template = limited
        return Message(template, interface=line.name, carried=carried, speed=f"{line.possible_mbit:g}")


_SERVER_ADVICE = _LineAdvice(
    receives=(
        "Send less to this host (smaller uploads, compressed or cached responses of backends), or use a faster link: "
        "{interface} receives {carried:.3g} of {speed} Mbit/s."
    ),
    sends=(
        "Compress responses (mod_deflate, mod_brotli), let clients cache them, or use a faster link: {interface} sends "
        "{carried:.3g} of {speed} Mbit/s."
    ),
    shaped=(
        "Raise the rate of the queueing discipline (tc qdisc), compress responses (mod_deflate, mod_brotli), or let "
        "clients cache them: {interface} sends {carried:.3g} of the {speed} Mbit/s allowed."
    ),
    policed=(
        "Raise the rate of the policer (tc filter), or send less to this host (smaller uploads, compressed or cached "
        "responses of backends): {carried:.3g} Mbit/s arrive at {interface}, where {speed} are allowed."
    ),
)
_GENERATOR_ADVICE = _LineAdvice(
    receives=(
        "Compress responses (mod_deflate, mod_brotli), or use a faster link or more generator machines: {interface} "
        "receives {carried:.3g} of {speed} Mbit/s."
    ),
    sends=(
        "Send smaller request bodies, or use a faster link or more generator machines: {interface} sends {carried:.3g} "
        "of {speed} Mbit/s."
    ),
    shaped=(
        "Raise the rate of the queueing discipline (tc qdisc), or send smaller request bodies: {interface} sends "
        "{carried:.3g} of the {speed} Mbit/s allowed."
    ),
    policed=(
        "Raise the rate of the policer (tc filter), compress responses, or use more generator machines: "
        "{carried:.3g} Mbit/s arrive at {interface}, where {speed} are allowed."
    ),
)


def _assess_server_line(_: Measured, host: HostView) -> Assessment | None:
    return _assess_line(host, _SERVER_ADVICE)


def _assess_generator_line(_: Measured, host: HostView) -> Assessment | None:
    return _assess_line(host, _GENERATOR_ADVICE)


def _assess_line(host: HostView, advice: _LineAdvice) -> Assessment | None:
    """Its fullest line, where the speed of one is known. Of two ends of one line, that with a rate that was set: it can
    be changed there."""
    line = fullest(host)
    if line is None or line.util is None:
        return None
    util = line.util
    line = next((each for each in _lines(host) if _is_set(each) and _as_full(each, util)), line)
    if not line.possible_mbit:
        return None
    again = None if host.rates is None or host.rates.tcp is None else host.rates.tcp.retransmits
    name = f"network.{line.name}"
    carried = (line.tx_kb if line.sends else line.rx_kb) * 8 * 1024 / 1e6
    limited = "tc qdisc: rate" if line.sends else "tc filter: police rate"
    source = limited if _is_set(line) else "line speed"
    votes = [util > 95.0, exceeds(again, RETRANSMITS_S)]
    held_back = _held_back(line)
    if held_back:
        votes.append(any(row.value for row in held_back))
    return Assessment(
        over=util > UTIL_PCT,
        held=util > UTIL_CLEAR_PCT,
        evidence=(
            Row(f"{name}.util_pct", line.util, UTIL_PCT, "%", "PCP pernetif/util: over 85 %"),
            Row(f"{name}.{'tx' if line.sends else 'rx'}_mbit_s", carried, line.possible_mbit, "Mbit/s", source),
            *held_back,
            Row("tcp.retransmits_s", again, RETRANSMITS_S, "/s", "loadtop; affects only the confidence"),
        ),
        advice=lambda: advice.on(line, carried),
        confidence=agreement(*votes),
    )


def _held_back(line: NetworkRates) -> tuple[Row, ...]:
    """What a queueing discipline or a policer holds back in the fuller direction of a line, if there is one."""
    name = f"network.{line.name}"
    if not line.sends and line.policed_mbit is not None:
        return (Row(f"{name}.policed_drops_s", line.policed_drops, 0.0, "/s", "tc filter: overlimits"),)
    if not line.sends or line.queue_backlog is None:
        return ()
    return (
        Row(f"{name}.queue_drops_s", line.queue_drops, 0.0, "/s", "tc qdisc: dropped"),
        Row(f"{name}.queue_overlimits_s", line.queue_overlimits, 0.0, "/s", "tc qdisc: overlimits"),
        Row(f"{name}.queue_backlog", line.queue_backlog, 0.0, "packets", "tc qdisc: backlog"),
    )


NETWORK = Verdict(
    name="network",
    letter="N",
    title="network",
    sentence="The network link is the limit",
    headline="the link is the limit",
    clause=True,
    family=Family.NETWORK,
    explains=(Family.POOL,),
    of_host=_assess_server_line,
    of_generator=_assess_generator_line,
    titles={"tcp.retransmits_s": "retransmitted segments"},
)


def _assess_queue(measured: Measured, host: HostView) -> Assessment | None:
    """The kernel counts overflows of all ports together: where the tested one's queue
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
    in_flight = measured.in_flight
    ours = own is None or own.queue > 0 or not (others or (in_flight is not None and in_flight <= room))
    return Assessment(
        over=overflows > OVERFLOWS_S and ours,
        held=overflows > OVERFLOWS_S and ours,
        evidence=(
            Row("tcp.listen_overflows_s", overflows, OVERFLOWS_S, "/s", "PCP tcplistenoverflows: any"),
            Row("tcp.accept_queue", queue, room, "conn", "ss -ltn: Recv-Q, Send-Q"),
            Row("tcp.listen_drops_s", rates.tcp.listen_drops, 1, "/s", "netdata: over 1/s"),
        ),
        advice=lambda: _queue_advice(measured, own),
        confidence=agreement(None if own is None else _is_full(own), exceeds(queue, 0)),
    )


def _is_full(listener: Listener) -> bool:
    """Linux takes one connection more than the backlog (inet_csk_reqsk_queue, sk_acceptq_is_full)."""
    return listener.backlog is not None and listener.queue >= listener.backlog > 0


def _queue_advice(measured: Measured, own: Listener | None) -> Message:
    refused = "The accept queue is full; clients whose connection is dropped retry after 1 s."
    port, backlog = (None, None) if own is None else (own.port, own.backlog)
    if backlog:
        refused = (
            "The accept queue of port {port:d} (backlog {backlog}) is full; clients "
            "whose connection is dropped retry after 1 s."
        )
    asked = None if measured.load is None else measured.load.concurrency
    more = "Raise the server's backlog (Apache: ListenBacklog) and net.core.somaxconn, or add workers."
    if asked is not None:
        more = "Raise the server's backlog (Apache: ListenBacklog) and net.core.somaxconn to {wanted}, or add workers."
    wanted = max(DEFAULT_BACKLOG, 2 * (asked or 0))
    return sentences(Message(more, wanted=wanted), Message(refused, port=port, backlog=backlog))


LISTEN_QUEUE = Verdict(
    name="listen-queue",
    letter="L",
    title="accept queue",
    sentence="The accept queue is the limit",
    headline="overflows",
    family=Family.POOL,
    explains=("waiting",),
    of_host=_assess_queue,
    titles={
        "tcp.listen_overflows_s": "accept queue overflows",
        "tcp.listen_drops_s": "connections dropped",
        "tcp.accept_queue": "accept queue",
    },
)
