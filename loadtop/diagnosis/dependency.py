"""Another service that the server's workers wait for, and that is saturated or serialised.

A question is open on a connection while data was sent later than received. The mean number of open questions divided
by the throughput is the time that a request spends with that service (Little's law). A service that serves its
questions side by side takes as long for many as for few; one that is full or serves one after the other takes longer
the more ask. Only that makes it the limit: otherwise its time is what the request takes, and a full pool is the limit.

How long it takes when few ask is known from intervals with clearly fewer connections. Where all intervals are alike,
as under a closed load from its first moment, the least time of a whole request stands for it: the first requests find
the service free. Pages that differ would look the same, so that nearly all requests must take clearly longer then.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from loadtop.diagnosis.breakdown import OLD
from loadtop.diagnosis.finding import Dependency
from loadtop.diagnosis.response_times import CALM_PCT, SLOWER, SLOWER_CLEAR, LeastTime, at_work, fastest_us
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.i18n import Message, sentences
from loadtop.model import Distribution, LoadSample, Role
from loadtop.model.histogram import mean, merge
from loadtop.model.server import Blocker, ServiceState
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import PeerRates

MOST_PCT, MOST_CLEAR_PCT = 50.0, 35.0  # percent of the requests in progress with a pending request there; our own
FEWER = 1.5  # this many times fewer connections of the load, and pending requests, are clearly fewer; our own
PER_QUESTION = 5.0
"""Without such intervals: a serialised service with N open questions takes N times its least time. A fifth of that must
be seen, because the least time of a whole request holds more than the service, and the first requests of a load compete
for the CPU; our own."""

LEAST_MS = 5.0  # ms there below which it is the noise of schedulers and lines; our own, as for ``waiting``
LEAST_QUESTIONS = 1.5  # pending requests that are a queue; our own
LITTLE_PART = 0.2  # of the mean response time that all processes under test may run or wait for a CPU; our own
ENOUGH, MANY, TOGETHER = 5, 20, 5
"""So many requests have times that say something, and of so many the fastest do: those of the interval, or if it has
fewer, those of the last so many intervals. A service that takes 0.3 s ends three requests per second; our own."""

LOCKED_PART = 0.5  # of the pending requests that wait for locks in the service; our own
LEVELS = 64  # numbers of connections of the load that are remembered of a service
MOST_SERVICES = 256


class _Known(NamedTuple):
    """Means over intervals with the same number of connections: open questions, and how long a request spent there."""

    intervals: int = 0
    questions: float = 0.0
    ms: float = 0.0

    def with_one(self, questions: float, ms: float) -> "_Known":
        n = self.intervals + 1
        return _Known(n, self.questions + (questions - self.questions) / n, self.ms + (ms - self.ms) / n)


class _Base(NamedTuple):
    """How long a request spent there when few asked, or at most (``SHORTEST_REQUEST``), and how many times that is
    slower. ``sure``: all requests wait now."""

    ms: float
    factor: float
    source: str
    sure: bool = True


class Dependencies:
    """Remembers how long requests spent with each service, by the number of connections of a closed load. Numbers of
    pending requests are no level: they are measured together with the time, with the same error. Bounded."""

    def __init__(self) -> None:
        self._least = LeastTime()
        self._recent = deque[Distribution](maxlen=TOGETHER)
        self._levels: dict[tuple[str, str], dict[int, _Known]] = {}

    def assess(self, measured: Measured) -> dict[str, Assessment]:
        """By host, the service that most of its requests wait for."""
        load, rates = measured.load, measured.load_rates
        if load is None or rates is None or not rates.rps or load.latencies is None or load.state.ended:
            return {}
        self._least.learn(load.latencies.total, rates)
        self._recent.append(load.latencies.total)
        times = self._newest(ENOUGH)
        if times.count < ENOUGH:
            return {}
        found: dict[str, Assessment] = {}
        for host in measured.hosts:
            peers = (self._of_peer(measured, host, peer, load, rates.rps, times) for peer in _peers(host))
            known = [each for each in peers if each is not None]
            if known:
                # A service that waits for another one looks slow too: the one furthest away is the cause.
                _, _, found[host.name] = max(known, key=lambda each: (each[2].over, *each[:2]))
        return found

    def _newest(self, wanted: int) -> Distribution:
        """The times of so many requests, or of all in the last intervals."""
        times, *earlier = reversed(self._recent)
        for each in earlier:
            if times.count >= wanted:
                break
            times = merge([times, each])
        return times

    def _of_peer(
        self, measured: Measured, host: HostView, peer: PeerRates, load: LoadSample, rps: float, times: Distribution
    ) -> tuple[int, float, Assessment] | None:
        asked = Dependency(peer.address, peer.kind, peer.host)
        working = at_work(measured, load)
        if not working:
            return None
        mean_ms = mean(times) / 1000
        ms, share = 1000.0 * peer.questions / rps, min(100.0, 100.0 * peer.questions / working)
        base = self._base(host.name, peer, ms, load)
        states = [state for view in measured.hosts for state in view.services() if _is_of(state, peer)]
        says = any(state.is_full or (state.lock_waits or 0) > LOCKED_PART * peer.questions for state in states)
        blocker = next((state.blocker for state in states if state.blocker is not None), None)
        real = (
            ms >= LEAST_MS
            and peer.questions >= LEAST_QUESTIONS
            and (peer.age_ms is None or peer.age_ms <= OLD * mean_ms)
        )
        slower = base is not None and base.sure and ms > base.factor * base.ms
        still = base is not None and ms > base.factor * SLOWER_CLEAR / SLOWER * base.ms
        calm = all(map(_is_calm, measured.hosts)) or (_runs_here(host, peer) and _computes_little(host, rps, mean_ms))
        evidence = [
            Row("dependency.waiting_pct", share, MOST_PCT, "%", "loadtop: pending calls / requests in progress"),
        ]
        if base is not None:
            evidence.append(Row("dependency.ms", ms, base.factor * base.ms, "ms", base.source))
        if blocker is not None:
            evidence.append(Row("dependency.blocked", blocker.blocked, LOCKED_PART * peer.questions, "", BY_ITSELF))
        return (
            peer.depth,
            share,
            Assessment(
                over=real and calm and _is_measured(host, peer) and share > MOST_PCT and (slower or says),
                held=real and share > MOST_CLEAR_PCT and (still or says),
                evidence=tuple(evidence),
                advice=lambda: _advice(asked, peer.questions, working, ms, base, blocker),
                confidence=agreement(says or None, base is not None and base.source == FEWER_ASKED),
                dependency=asked,
            ),
        )

    def _base(self, host: str, peer: PeerRates, ms: float, load: LoadSample) -> _Base | None:
        """How long it took when few asked; and remember this interval. ``None``: nothing to compare with."""
        if (host, peer.address) not in self._levels and len(self._levels) >= MOST_SERVICES:
            return None
        levels = self._levels.setdefault((host, peer.address), {})
        level = load.concurrency
        if level is not None and load.rate is None and (level in levels or len(levels) < LEVELS):
            levels[level] = levels.get(level, _Known()).with_one(peer.questions, ms)
        fewer = [
            known.ms
            for number, known in levels.items()
            if level is not None
            and number * FEWER <= level
            and known.questions * FEWER <= peer.questions
            and known.intervals > 1
        ]
        if fewer:
            return _Base(min(fewer), SLOWER, FEWER_ASKED)
        if self._least.us is None:
            return None
        fastest = fastest_us(self._newest(MANY))
        if fastest <= SLOWER_CLEAR * self._least.us:
            return None
        factor = max(SLOWER, peer.questions / PER_QUESTION)
        return _Base(self._least.us / 1000, factor, SHORTEST_REQUEST, fastest > SLOWER * self._least.us)


FEWER_ASKED = "loadtop: several times the wait under less load"
SHORTEST_REQUEST = "loadtop: several times the fastest request"
BY_ITSELF = "the database: sessions that one session blocks"


def _is_of(state: ServiceState, peer: PeerRates) -> bool:
    """Whether this is a watched database or cache at that port, or one of the kind at a unix socket."""
    _, _, port = peer.address.rpartition(":")
    elsewhere = state.port is not None and str(state.port) != port and not peer.by_connection
    return state.kind == peer.kind and not elsewhere


def _peers(host: HostView) -> Iterator[PeerRates]:
    yield from (host.rates.peers if host.rates is not None else None) or ()


def _is_calm(host: HostView) -> bool:
    cpu = host.cpu
    return cpu is None or cpu.busy + (cpu.steal or 0.0) < CALM_PCT


def _is_measured(host: HostView, peer: PeerRates) -> bool:
    """Whether it is known what CPU the service's processes take, where they are known: one that fills its core is slow
    for that reason."""
    return not peer.watched or all(group.cpu is not None for group in host.groups())


def _runs_here(host: HostView, peer: PeerRates) -> bool:
    """Whether the processes of the service are known on the machine that calls it."""
    if peer.watched:
        return True
    if host.sample is None or peer.kind not in {group.group for group in host.groups()}:
        return False
    place = peer.address.rpartition(":")[0].strip("[]")
    return peer.address.startswith("/") or place in ("127.0.0.1", "::1", *host.sample.facts.addresses)


def _computes_little(host: HostView, rps: float, mean_ms: float) -> bool:
    """Whether servers and services on this machine neither run nor wait for a CPU for much of a request: then other
    processes fill the CPU, and do not slow the service down. The threads of databases are not asked how long they wait:
    they stand in the same queues as those of the servers."""
    groups = host.groups()
    running = [group.cpu for group in groups if group.cpu is not None]
    asked = [(group.cpu, group.wait) for group in groups if group.cpu is not None and group.wait is not None]
    served = sum(cpu for cpu, _ in asked)
    if len(running) < len(groups) or not served:
        return False
    share = sum(running) * (1.0 + sum(wait for _, wait in asked) / served)
    return 10.0 * share / rps < LITTLE_PART * mean_ms


def _advice(
    asked: Dependency, questions: float, working: int, ms: float, base: _Base | None, blocker: Blocker | None
) -> Message:
    template = (
        "Speed up or scale {service} at {address}: {questions:.1f} of "
        "{working} requests wait for it, {ms:.3g} ms each. More workers would not "
        "help."
    )
    if base is not None and base.source == FEWER_ASKED:
        template = (
            "Speed up or scale {service} at {address}: {questions:.1f} of "
            "{working} requests wait for it, {ms:.3g} ms each ({least:.3g} ms under "
            "less load). More workers would not help."
        )
    elif base is not None:
        template = (
            "Speed up or scale {service} at {address}: {questions:.1f} of "
            "{working} requests wait for it, {ms:.3g} ms each (the fastest request took {least:.3g} "
            "ms in total). More workers would not help."
        )
    waits = Message(
        template,
        questions=questions,
        working=working,
        service=Message("the service") if asked.kind is None else asked.kind,
        address=asked.place,
        ms=ms,
        least=0.0 if base is None else base.ms,
    )
    if blocker is None:
        return waits
    template = (
        "Shorten transactions such as the one in session {session} ({activity}). "
        "Sessions waiting for its lock ({lock}): {blocked}, for up to {seconds:.1f} s."
    )
    blocks = Message(
        template,
        session=blocker.session,
        activity=blocker.activity,
        blocked=blocker.blocked,
        seconds=blocker.waited_ms / 1000,
        lock=blocker.lock,
    )
    return sentences(waits, blocks)


DEPENDENCY = Verdict(
    name="dependency",
    letter="Y",
    title="dependency",
    sentence="A service that the server depends on is the limit",
    headline="is the limit",
    family=Family.POOL,
    role=Role.DATABASE,
    titles={
        "dependency.waiting_pct": "requests waiting",
        "dependency.ms": "wait per request",
        "dependency.blocked": "sessions blocked by one session",
    },
)
"""Assessed by :class:`Dependencies`. Pools of workers on the way fill behind it."""
