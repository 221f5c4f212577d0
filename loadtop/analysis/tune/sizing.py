"""What a sweep found, and the worker limit to set: the smallest of what memory, the knee and the scoreboard allow."""

from collections.abc import Sequence
from statistics import fmean, linear_regression
from typing import Any, Literal

from msgspec import Struct

from loadtop.analysis.statistic import Json
from loadtop.analysis.tune.knee import Knee, find_knee, limit_of
from loadtop.analysis.tune.step import StepResult
from loadtop.i18n import Message
from loadtop.servers.kind import WorkerPool, Workers
from loadtop.servers.registry import WORKERS

CPU_FULL = 90.0  # percent busy at which the ``cpu`` verdict is given: workers beyond that find no processor
RESERVE = 0.9  # share of the memory that workers may fill; the rest is for the page cache and for peaks; our own
LEAST_OTHERS = 5.0  # percent of the processors from which what other programs take is worth a word
LEAST_STEPS = 3  # steps with differing numbers of busy workers needed to tell the memory of busy from idle ones

BoundName = Literal["memory", "knee", "scoreboard", "cpu", "tested"]


class Bound(Struct, frozen=True):
    name: BoundName
    workers: int
    reason: Message


class WorkerMemory(Struct, frozen=True):
    """``worker_kb`` is what a busy worker takes; ``basis`` is ``pss``, or ``rss`` (an over-estimate: shared pages count
    for every process). ``room_kb`` is what this pool's workers may take together."""

    worker_kb: float
    basis: str
    room_kb: float


class Sizing(Struct, frozen=True):
    """``value`` workers in ``pool`` (whole processes of a threaded server); ``bounds`` the smallest first, which is the
    one that binds.

    ``configuration`` is the block to paste. ``memory`` is ``None`` where it was not measured. ``pool_was_full`` says
    that the pool itself was the limit, so that the value is a forecast, to be confirmed by tuning again.
    """

    pool: WorkerPool
    value: int
    bounds: tuple[Bound, ...]
    memory: WorkerMemory | None
    pool_was_full: bool
    configuration: str

    @property
    def binding(self) -> BoundName:
        return self.bounds[0].name

    @property
    def workers(self) -> Workers[Any]:
        return WORKERS[self.pool.kind]

    def as_json(self) -> Json:
        """``sizing`` of the JSON summary. ``per_process_kb`` is for one process, with all its threads."""
        threads = self.pool.threads_per_child or 1
        each = None if self.memory is None else round(self.memory.worker_kb * threads)
        return {
            "max_request_workers": self.value if self.workers.setting == "MaxRequestWorkers" else None,
            "binding": self.binding,
            "per_process_kb": each,
            "basis": None if self.memory is None else self.memory.basis,
            "setting": self.workers.setting,
            "value": self.value,
            "pool": self.pool.name or None,
            "now": self.pool.capacity,
            "pool_was_full": self.pool_was_full,
            "bounds": {bound.name: bound.workers for bound in self.bounds},
            "configuration": self.configuration,
        }


class TuneResult(Struct, frozen=True):
    """``steps`` in the order in which they were measured. ``limit`` is the step whose verdict is the limit; ``reason``
    says why the sweep went no further, where that is known."""

    steps: tuple[StepResult, ...]
    knee: Knee | None
    limit: StepResult | None
    sizing: Sizing | None
    reason: Message | None = None

    @classmethod
    def of(cls, steps: Sequence[StepResult], reason: Message | None = None) -> "TuneResult":
        knee = find_knee(steps)
        limit = limit_of(steps, knee)
        return cls(tuple(steps), knee, limit, size(steps, knee, limit), reason)

    def into(self, summary: Json) -> Json:
        """The JSON summary with these steps, as far as they were steady, ``knee`` and ``sizing``."""
        return {**summary, "steps": [step.as_json() for step in self.steps], **self.as_json()}

    def as_json(self) -> Json:
        return {
            "knee": None if self.knee is None else self.knee.as_json(),
            "sizing": None if self.sizing is None else self.sizing.as_json(),
        }


def size(results: Sequence[StepResult], knee: Knee | None, limit: StepResult | None) -> Sizing | None:
    """The limit to set for the pool that matters; ``None`` if no pool was seen, or if the knee was not reached, because
    the effect of more workers is then unknown."""
    pool = _pool(results, limit)
    if pool is None or not results:
        return None
    full = limit is not None and limit.bottleneck == WORKERS[pool.kind].verdict
    if not full and (knee is None or not knee.bounded):
        return None
    memory = worker_memory(results, pool)
    found = [_by_memory(results, knee, memory)]
    if full:
        found += [_by_cpu(pool, limit), _by_reach(results, pool)]
    else:
        found += [_by_knee(knee), _by_scoreboard(results, knee, pool)]
    bounds = sorted((bound for bound in found if bound is not None), key=lambda bound: bound.workers)
    if not bounds:
        return None
    workers = WORKERS[pool.kind]
    value = workers.allowed(pool, max(1, bounds[0].workers))
    return Sizing(pool, value, tuple(bounds), memory, full, workers.configuration(pool, value))


def worker_memory(results: Sequence[StepResult], pool: WorkerPool) -> WorkerMemory | None:
    """From the steps in which nothing was swapped; ``None`` where memory was not measured."""
    calm = [result for result in results if not result.swaps and result.room_kb is not None]
    known: list[tuple[WorkerPool, float]] = []
    others = 0.0
    for result in calm:
        for each in result.pools:
            if (memory := each.memory_kb) is None:
                continue
            if (each.kind, each.name) == (pool.kind, pool.name):
                known.append((each, memory))
            else:
                others = max(others, memory)
    if not known or all(each.started == 0 for each, _ in known):
        return None
    room = min(result.room_kb for result in calm if result.room_kb is not None)
    proportional = [(each, memory) for each, memory in known if each.shared_kb is not None]
    # PSS takes a few intervals to come: where most steps have it, the others are left out.
    basis, known = ("pss", proportional) if 2 * len(proportional) >= len(known) else ("rss", known)
    return WorkerMemory(_per_worker(known), basis, max(0.0, room - others))


def _per_worker(known: Sequence[tuple[WorkerPool, float]]) -> float:
    """What an idle worker takes, plus by how much it grows while it is busy; least squares over the steps."""
    started = max(1.0, fmean(pool.started for pool, _ in known))
    busy, memory = [float(pool.busy) for pool, _ in known], [kilobytes for _, kilobytes in known]
    if len(set(busy)) < LEAST_STEPS:
        return max(kilobytes / max(1, pool.started) for pool, kilobytes in known)
    slope = max(0.0, linear_regression(busy, memory).slope)
    idle = max(0.0, fmean(memory) - slope * fmean(busy))
    return max(idle / started + slope, 1.0)


def _pool(results: Sequence[StepResult], limit: StepResult | None) -> WorkerPool | None:
    """The pool that is the limit, the fullest of several; otherwise the web server's, or the only one there is."""
    newest = next((result.pools for result in reversed(results) if result.pools), ())
    full = [pool for pool in newest if limit is not None and WORKERS[pool.kind].verdict == limit.bottleneck]
    if full:
        return max(full, key=lambda pool: pool.busy / (pool.capacity or pool.started or 1))
    return next((pool for pool in newest if not pool.name), next(iter(newest), None))


def _by_memory(results: Sequence[StepResult], knee: Knee | None, memory: WorkerMemory | None) -> Bound | None:
    """What fits; where swapping was seen, no more than ran without it, and no less."""
    calm = [result.concurrency for result in results if not result.swaps]
    swapping = min((r.concurrency for r in results if r.swaps and r.concurrency > max(calm, default=0)), default=None)
    if memory is None:
        if swapping is None or not calm:
            return None
        reason = Message("no swapping at {calm}, swapping at {swapping}", calm=max(calm), swapping=swapping)
        return Bound("memory", max(calm), reason)
    fits = int(RESERVE * memory.room_kb / memory.worker_kb)
    measured = None
    if swapping is not None and knee is not None and calm:
        fits = max(*calm, min(fits, swapping - 1))
        measured = Message(
            "; measured: no swapping at {calm}, swapping at {swapping}", calm=max(calm), swapping=swapping
        )
    reason = Message(
        "{size:.1f} MB each ({basis}); {share:.0f} % of {room:.0f} MB may be used{measured}",
        size=memory.worker_kb / 1024,
        basis="PSS" if memory.basis == "pss" else Message("RSS, an overestimate"),
        share=100 * RESERVE,
        room=memory.room_kb / 1024,
        measured=measured,
    )
    return Bound("memory", fits, reason)


def _by_knee(knee: Knee | None) -> Bound | None:
    """As far as the best throughput was seen to hold; ``None`` where no step with more connections was measured."""
    if knee is None or not knee.bounded:
        return None
    reason = Message("best from {c} to {until} connections", c=knee.concurrency, until=knee.until)
    if knee.until == knee.concurrency:
        reason = Message("best at {c} connections", c=knee.concurrency)
    return Bound("knee", knee.until, reason)


def _by_scoreboard(results: Sequence[StepResult], knee: Knee | None, pool: WorkerPool) -> Bound | None:
    """As many as were ever busy while throughput was at its best, and one for the status page."""
    until = None if knee is None else knee.until
    busy = [
        each.busy_most
        for result in results
        for each in result.pools
        if (each.kind, each.name) == (pool.kind, pool.name) and (until is None or result.concurrency <= until)
    ]
    if not busy or not max(busy):
        return None
    page = WORKERS[pool.kind].takes_page
    text = "at most {number} busy, plus 1 for the status page" if page else "at most {number} busy"
    return Bound("scoreboard", max(busy) + page, Message(text, number=max(busy)))


def _by_cpu(pool: WorkerPool, limit: StepResult | None) -> Bound | None:
    """A full pool on a free processor: at how many workers the processor would be full (utilisation law). What other
    programs take does not grow with the workers."""
    if limit is None or limit.used is None or limit.used - limit.others < 1.0 or not pool.capacity:
        return None
    used, others = limit.used - limit.others, limit.others
    workers = int(pool.capacity * (CPU_FULL - others) / used)
    text = Message("{number} workers make the CPU {share:.0f} % busy", number=pool.capacity, share=used)
    if others >= LEAST_OTHERS:
        template = "{number} workers take {share:.0f} % of the CPU, other programs {others:.0f} %"
        text = Message(template, number=pool.capacity, share=used, others=others)
    return Bound("cpu", max(workers, pool.capacity), text)


def _by_reach(results: Sequence[StepResult], pool: WorkerPool) -> Bound:
    """No further than load was made: what more would do was not seen."""
    most = max(result.concurrency for result in results)
    page = WORKERS[pool.kind].takes_page
    text = "no more than {number} connections tested"
    if page:
        text = "no more than {number} connections tested, plus 1 for the status page"
    return Bound("tested", most + page, Message(text, number=most))
