"""Requests that queue for something that is not watched: a database, a lock, a server behind the server.

Little's law (L = X * R) splits the requests in flight: X * R0 of them are being served, where R0 is what a request
takes when no one is before it; the rest wait. R0 is the least time seen while few were in flight, as at the beginning
of every closed load. Where *every* request takes several times R0, they wait for one another; where only some do, the
pages differ. A lock is not fair: a request in eight may find it free. So a tenth may be fast where the times of the
others lie far apart, as those of a queue do, while pages that differ come in clusters.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, median

from loadtop.diagnosis.breakdown import TIMER, Part, breakdown, pauses
from loadtop.diagnosis.response_times import CALM_PCT, SLOWER, SLOWER_CLEAR, LeastTime, alone_us, slow_part
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.i18n import Message, sentences
from loadtop.model import LoadSample, Role, ServerKind, State
from loadtop.model.histogram import mean
from loadtop.rates.measured import HostView, Measured

WAITING_PCT, WAITING_CLEAR_PCT = 60.0, 45.0  # percent of the requests in flight that wait, by Little's law; our own

EVERY_SLOWER, EVERY_WAITING_PCT, ENOUGH = 1.3, 20.0, 20
"""Or every one of at least so many requests takes this many times R0: pages that differ would still have fast ones. Or
so many percent wait, and fewer connections were served as fast. Our own."""

LEAST_WAIT_MS = 5.0  # ms of waiting below which it is the noise of schedulers and lines; our own

GROWTH, GAIN = 1.5, 1.1
"""With this many times the connections, throughput of less than that many times is no growth; our own."""

LEVELS, SERVED = 64, 16  # how many numbers of connections are remembered, and how many intervals of each

SPARE, DEVIATIONS = 4.0, 2.0
"""Beyond its workers, this many requests and twice the square root of the workers are a burst that passes; our own."""

MOST, ELSEWHERE = 0.5, (Part.LOCK, Part.DEPENDENCY)
"""Where more than this part of the response time passes, it is to be shortened; our own."""

LATE_PCT = 1.0  # percent of the due requests that are sent late: then every connection of an open load is taken


class Waiting:
    """Remembers what a request takes alone, and what each number of connections was served at. Bounded."""

    def __init__(self) -> None:
        self._least = LeastTime()
        self._levels: dict[int, deque[float]] = {}  # requests/s by connections
        self.flat: tuple[float, int, float] | None = None
        """Where throughput does not grow any more: requests/s now, the smaller number of connections that was served as
        fast, and how fast it was."""

    def assess(self, measured: Measured, others: Iterable[Assessment]) -> Assessment | None:
        """``waiting``, where no other resource is even near its limit. ``others`` are this interval's."""
        self.flat = None
        load, rates = measured.load, measured.load_rates
        if load is None or rates is None or rates.rps is None or load.latencies is None or load.state.ended:
            return None
        times = load.latencies.total
        if times.count == 0 or rates.rps <= 0:
            return None
        alone = alone_us(times)
        self._least.learn(times, rates)
        least = self._least.us
        if least is None:
            return None
        rps, flat = rates.rps, self._flat(load, rates.rps)
        self.flat = flat
        free = (
            not any(each.held or each.over for each in others)
            and all(map(_is_calm, measured.hosts))
            and not any(_keeps_silent(measured, host) for host in measured.hosts)
        )
        mean_ms, least_ms = mean(times) / 1000, least / 1000
        share = 100.0 * max(0.0, 1.0 - least_ms / mean_ms) if mean_ms else 0.0
        in_flight, served = rps * mean_ms / 1000, rps * least_ms / 1000
        low, low_ms = slow_part(times)
        slower = low_ms / least_ms if least_ms else 1.0
        most = share > WAITING_PCT and slower > SLOWER
        every = times.count >= ENOUGH and share > EVERY_WAITING_PCT and alone > EVERY_SLOWER * least
        stuck = flat is not None and share > EVERY_WAITING_PCT
        seen = load.in_flight if load.in_flight is not None else round(in_flight)
        has_effect = mean_ms - least_ms >= LEAST_WAIT_MS and seen >= 2
        percent, part, factor = WAITING_PCT, f"p{low:.0f}", SLOWER
        if every and not most:
            percent, part, low_ms, factor = EVERY_WAITING_PCT, "min", alone / 1000, EVERY_SLOWER
        evidence = [
            Row("load.waiting_pct", share, percent, "%", "Little's law: 1 - shortest / mean time"),
            Row(f"load.{part}_ms", low_ms, factor * least_ms, "ms", f"loadtop: {factor} times shortest time seen"),
            Row("load.in_flight", in_flight, round(served), "requests", "Little's law: requests being served"),
        ]
        if flat is not None:
            here, fewer, best = flat
            evidence.append(Row("load.rps", here, GAIN * best, "/s", f"loadtop: no growth from c={fewer}", below=True))
        return Assessment(
            over=free and has_effect and (most or every or stuck),
            held=has_effect and (every or stuck or (share > WAITING_CLEAR_PCT and slower > SLOWER_CLEAR)),
            evidence=tuple(evidence),
            advice=lambda: _advice(measured, in_flight, served, rps),
            confidence=agreement(flat is not None or None, abs(in_flight - seen) <= 0.25 * max(1, seen)),
        )

    def _flat(self, load: LoadSample, rps: float) -> tuple[float, int, float] | None:
        """Remember how fast this number of connections is served. Returns :attr:`flat`."""
        level = load.concurrency
        if level is None or load.rate is not None:
            return None
        if level not in self._levels and len(self._levels) == LEVELS:
            return None
        served = self._levels.setdefault(level, deque(maxlen=SERVED))
        served.append(rps)
        here = median(served)
        smaller = [(_usual(rates), n) for n, rates in self._levels.items() if n * GROWTH <= level and len(rates) > 1]
        best, fewer = max(smaller, default=(0.0, 0))
        return (here, fewer, best) if here < GAIN * best else None


def rate_text(rps: float) -> str:
    """Requests/s in a sentence, with three digits or all before the point: ``2.25``, ``1,050``."""
    return f"{rps:,.0f}" if rps >= 100 else f"{rps:.3g}"


def _usual(rates: Sequence[float]) -> float:
    """Requests/s of a step: the mean, or the second highest where that is more. The first and last interval of a step
    are partly those of another load, which lowers the mean of few intervals."""
    return max(fmean(rates), sorted(rates)[-2])


def _is_calm(host: HostView) -> bool:
    """Whether a machine's processors are far from full. One without figures is not called so."""
    if host.rates is None:
        return False
    return host.cpu is None or host.cpu.busy + (host.cpu.steal or 0.0) < CALM_PCT


def _keeps_silent(measured: Measured, host: HostView) -> bool:
    """Whether there is a web server whose status page has not come: its workers may all be busy."""
    if host.sample is None or host.rates is None or measured.readings(host, Role.WEB):
        return False
    pages = {kind.name for kind in measured.kinds if kind.role is Role.WEB}
    return any(each.collector in pages and each.state is not State.ABSENT for each in host.sample.outcomes)


def _advice(measured: Measured, in_flight: float, served: float, rps: float) -> Message:
    waits = Message(
        "Of {in_flight:.0f} requests in flight, {served:.1f} are being served and the rest "
        "wait. Throughput stays at {rps} requests/s: with more connections, requests "
        "would only wait longer.",
        in_flight=in_flight,
        served=served,
        rps=rate_text(rps),
    )
    if not any(host.state.is_target for host in measured.hosts):
        return sentences(Message("The server's host is not watched. Add it with --host NAME=ssh://HOST."), waits)
    look = _look(measured)
    for host in measured.hosts:
        for line in (host.rates.networks if host.rates is not None else None) or ():
            if line.name != "lo" and line.util is None and max(line.rx_kb, line.tx_kb) > 1000:
                unknown = "The speed of {interface} is unknown. Set it with --link MBIT."
                return sentences(look, Message(unknown, interface=line.name), waits)
    return sentences(look, waits)


def _look(measured: Measured) -> Message:
    """What to look for. Locks and services may take most of the time together, although none of them is the limit."""
    found = breakdown(measured)
    elsewhere = [] if found is None else [each for each in found.shares or () if each.part in ELSEWHERE and each.ms]
    asleep, waits = ([each for each in elsewhere if (each.kind == TIMER) is pause] for pause in (True, False))
    mean_ms = found.mean_ms if found is not None else 0.0
    pause, share = (sum(each.ms or 0.0 for each in those) / (mean_ms or 1.0) for those in (asleep, waits))
    if pause > MOST:
        template = "Look in the page for a pause, like usleep or sleep: it takes {share:.0f} % of the response time."
        kind = _pausing(measured, mean_ms)
        if kind is None:
            return Message(template, share=100.0 * pause)
        template = "Look for a pause, like {setting} in {server}: it takes {share:.0f} % of the response time."
        return Message(template, setting=kind.pause, server=kind.name, share=100.0 * pause)
    if share <= MOST:
        return Message(
            "No watched host is at its limit. Look for a lock, or for a database or another "
            "server, and watch that server too."
        )
    longest = max(waits, key=lambda each: each.ms or 0.0)
    parts = {each.part for each in waits}
    what = "file locks and services" if len(parts) > 1 else "file locks" if Part.LOCK in parts else "services"
    template = "Shorten the waits for {what}: they take {share:.0f} % of the response time, the longest at {name}."
    return Message(template, what=Message(what), share=100.0 * share, name=longest.name)


def _pausing(measured: Measured, mean_ms: float) -> ServerKind | None:
    """The kind of server in whose event loop requests may pause; ``None`` where threads sleep, or nothing pauses."""
    samples = [host.sample for host in measured.hosts if host.sample is not None]
    paused = any(pauses(sample.timeouts_ms, mean_ms) > MOST for sample in samples)
    if not paused or any(sample.sleeping for sample in samples):
        return None
    groups = {group.group for host in measured.hosts if host.rates is not None for group in host.rates.groups or ()}
    return next((kind for kind in measured.kinds if kind.pause and kind.group in groups), None)


WAITING = Verdict(
    name="waiting",
    letter="W",
    title="waiting",
    sentence="No watched resource is at its limit, but requests are queuing",
    headline="no watched resource is at its limit, but requests are queuing",
    clause=True,
    family=Family.POOL,
    intervals=3,
    doubtful=True,
    titles={
        "load.waiting_pct": "requests in flight and waiting",
        "load.p10_ms": "fastest 10 % of requests take",
        "load.p20_ms": "fastest 20 % of requests take",
        "load.min_ms": "fastest request takes",
        "load.in_flight": "in flight",
        "load.rps": "requests",
    },
)
"""Assessed by :class:`Waiting`. It must hold for all three intervals: a page that names the limit may be on its way."""


def backs_up(measured: Measured, workers: int) -> bool:
    """Whether the queue of so many workers is permanent, as under a closed load. Of an open load, requests that come
    together queue for a moment; where the workers cannot serve it, the requests in flight grow without end, or all
    connections are taken. Without figures a queue is believed."""
    load = measured.load
    if load is None or load.rate is None or load.in_flight is None:
        return True
    return load.in_flight > workers + SPARE + DEVIATIONS * sqrt(workers) or falls_behind(measured)


def falls_behind(measured: Measured) -> bool:
    """Whether an open load sends later than it should: it has no connection free, or no time."""
    load, rates = measured.load, measured.load_rates
    generator = None if rates is None else rates.generator
    if load is None or load.rate is None or generator is None:
        return False
    return 100.0 * (generator.late or 0.0) > LATE_PCT * load.rate
