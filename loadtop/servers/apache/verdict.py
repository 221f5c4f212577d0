"""Apache's worker slots: all of them taken, so that requests wait for a worker."""

from collections.abc import Iterator

from loadtop.diagnosis.finding import Evidence
from loadtop.diagnosis.memory import room_for
from loadtop.diagnosis.verdict import Assessment, Family, Verdict, agreement, exceeds
from loadtop.diagnosis.waiting import backs_up
from loadtop.i18n import Message, sentences
from loadtop.model import Role, State
from loadtop.rates.measured import HostView, Measured
from loadtop.servers.apache.record import GROUP, NAME, ApacheStatus

FULL_PCT, FULL_CLEAR_PCT = 95.0, 85.0  # percent of the slots taken: Linuxfabrik's critical value; cleared at 85
QUEUE = 0  # connections in the accept queue of the server's port: any that stays there waits for a worker

HALF = 0.5
"""Part of the slots that must be taken for requests beyond their number to be called waiting for them; our own."""


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """By the scoreboard; by the accept queue where the page cannot answer, as it needs a worker itself."""
    rates, sample = host.rates, host.sample
    if rates is None or sample is None:
        return None
    queue = _accept_queue(measured, host)
    pages = [each.reading for each in host.servers(NAME, ApacheStatus)]
    if pages:
        return _by_scoreboard(measured, host, max(pages, key=lambda page: page.full), queue)
    silent = any(outcome.collector == NAME and outcome.state is State.FAILED for outcome in sample.outcomes)
    if not silent or queue is None or rates.group(GROUP) is None:
        return None
    return Assessment(
        over=queue > QUEUE,
        held=queue > QUEUE,
        evidence=(("tcp.accept_queue", queue, QUEUE, "conn", "loadtop, calibrated"),),
        advice=Message(
            "The status page cannot answer and connections wait to be accepted: raise MaxRequestWorkers as far as "
            "memory allows."
        ),
        confidence=agreement(False, True),
    )


def _by_scoreboard(measured: Measured, host: HostView, page: ApacheStatus, queue: int | None) -> Assessment:
    """The status page can only answer once a slot is free, and event frees several at a time. So free slots count as
    busy while requests wait for them. If none wait, the slot that served the page itself counts as free."""
    flying = None if measured.load is None else measured.load.in_flight
    taken = page.busy + page.graceful
    waits = queue or 0
    if flying is not None and taken - 1 >= HALF * page.capacity:
        # An accept queue may be some seconds old, or not be known; what no server has a slot for waits in any case.
        servers = [each for host in measured.hosts for each in measured.readings(host, Role.WEB)]
        waits = max(waits, flying - sum(each.slots or 0 for each in servers))
    alone = queue is None and (flying is None or taken - 1 > flying)
    if not waits and not alone and (flying is None or flying < page.capacity):
        taken = max(0, taken - 1)
    wanted = 100.0 * (taken + waits) / page.capacity if page.capacity else 0.0
    return Assessment(
        over=wanted >= FULL_PCT and backs_up(measured, page.capacity),
        held=wanted >= FULL_CLEAR_PCT,
        evidence=(
            ("apache.full_pct", page.full, FULL_PCT, "%", "Linuxfabrik: 95 % of the slots"),
            ("apache.busy", page.busy + page.graceful, page.capacity, "slots", "scoreboard"),
            ("tcp.accept_queue", queue, QUEUE, "conn", "loadtop, calibrated"),
        ),
        advice=lambda: _advice(measured, host, page),
        confidence=agreement(exceeds(queue, QUEUE), page.idle == 0 and page.open == 0),
    )


def _advice(measured: Measured, host: HostView, page: ApacheStatus) -> Message:
    capacity = page.capacity
    flying = (measured.load.in_flight if measured.load is not None else None) or 0
    template = "All {capacity} worker slots are taken while CPU is free: raise MaxRequestWorkers."
    if flying and flying >= capacity:
        template = (
            "All {capacity} worker slots are taken while CPU is free: raise MaxRequestWorkers to {wanted} or more "
            "({in_flight} requests are in flight, one is the status page's)."
        )
    more = Message(template, capacity=capacity, wanted=flying + 1, in_flight=flying)
    kept = page.keepalive
    shorter = Message("Or shorten KeepAliveTimeout: {slots} slots only hold a kept-alive connection.", slots=kept)
    room = room_for(host, GROUP, capacity) if page.mpm == "prefork" else Message("Go no further than memory allows.")
    return sentences(more, shorter if kept > capacity / 2 else None, room)


def _accept_queue(measured: Measured, host: HostView) -> int | None:
    """Connections waiting on the tested port of this machine; ``None`` where that was not read."""
    load, sample = measured.load, host.sample
    if load is None or sample is None or sample.tcp is None:
        return None
    if load.server is None:
        # Nothing has been answered yet, so that the port is not known: what requests wait at is the fullest.
        waiting = max((listener.queue for listener in sample.tcp.listeners), default=0)
        return waiting if load.in_flight and waiting else None
    queues = [listener.queue for listener in sample.tcp.listeners if listener.port == load.server.port]
    return sum(queues) if queues else None


def _headroom(host: HostView) -> Iterator[Evidence]:
    for page in host.servers(NAME, ApacheStatus):
        yield Evidence("apache.full_pct", host.name, page.reading.full, FULL_PCT, "%", "Linuxfabrik", below=True)


APACHE_WORKERS = Verdict(
    name="apache-workers",
    letter="A",
    title="APACHE WORKERS",
    sentence="Apache's worker slots are the limit",
    headline="are the limit",
    family=Family.POOL,
    role=Role.WEB,
    of_host=_assess,
    headroom=_headroom,
    titles={"apache.full_pct": "slots taken", "apache.busy": "busy workers"},
)
