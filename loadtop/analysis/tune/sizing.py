"""The worker limit to set: the smallest of what memory allows, what the knee shows and what the scoreboard shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadtop.analysis.tune.block import allowed, block
from loadtop.analysis.tune.knee import Knee
from loadtop.analysis.tune.servers import Pool
from loadtop.analysis.tune.step import StepResult
from loadtop.servers.apache.record import GROUP as HTTPD
from loadtop.servers.php_fpm.record import GROUP as FPM

CPU_FULL = 90.0
"""Percent busy at which the ``cpu`` verdict is given: workers beyond that find no processor."""

FULL_POOL = {HTTPD: "apache-workers", FPM: "fpm-workers"}
"""The verdict under which a pool itself was the limit: what was measured then tells nothing about larger ones."""


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """``worker_kb`` is what a busy worker takes; ``basis`` is ``pss``, or ``rss`` (an over-estimate: shared pages count
    for every process). ``room_kb`` is what this pool's workers may take together."""

    worker_kb: float
    basis: str
    room_kb: float


@dataclass(frozen=True, slots=True)
class Bound:
    """An upper bound in workers, with the reason in words."""

    name: str
    workers: int
    reason: str


@dataclass(frozen=True, slots=True)
class Sizing:
    """``value`` workers in ``pool`` (whole processes of a threaded server); ``bounds`` the smallest first, which is the
    one that binds.

    ``configuration`` is the block to paste. ``memory`` is ``None`` where it was not measured. ``pool_was_full`` says
    that the pool itself was the limit, so that the value is a forecast to be confirmed by tuning again.
    """

    pool: Pool
    value: int
    bounds: tuple[Bound, ...]
    memory: WorkerMemory | None
    pool_was_full: bool
    configuration: str

    @property
    def setting(self) -> str:
        return "pm.max_children" if self.pool.group == FPM else "MaxRequestWorkers"

    def as_json(self) -> dict[str, Any]:
        """``sizing`` of the JSON summary. ``per_process_kb`` is for one process, with all its threads."""
        threads = self.pool.threads_per_child or 1
        each = None if self.memory is None else round(self.memory.worker_kb * threads)
        return {
            "max_request_workers": self.value if self.pool.group == HTTPD else None,
            "binding": self.bounds[0].name,
            "per_process_kb": each,
            "basis": None if self.memory is None else self.memory.basis,
            "setting": self.setting,
            "value": self.value,
            "pool": self.pool.name or None,
            "now": self.pool.capacity,
            "pool_was_full": self.pool_was_full,
            "bounds": {bound.name: bound.workers for bound in self.bounds},
            "configuration": self.configuration,
        }


def size(results: Sequence[StepResult], knee: Knee | None, limit: StepResult | None) -> Sizing | None:
    """The limit to set for the pool that matters; ``None`` where no pool was seen, or where
    the knee was not reached, so that nothing is known of what more workers would do."""
    pool = _pool(results, limit)
    if pool is None or not results:
        return None
    full = limit is not None and limit.bottleneck == FULL_POOL[pool.group]
    if not full and (knee is None or not knee.bounded):
        return None
    memory = worker_memory(results, pool.group, pool.name)
    found = [
        _by_memory(results, knee, memory),
        _by_cpu(pool, limit) if full else _by_knee(knee),
        None if full else _by_scoreboard(results, knee, pool),
        _by_reach(results) if full else None,
    ]
    bounds = sorted((bound for bound in found if bound is not None), key=lambda bound: bound.workers)
    if not bounds:
        return None
    value = allowed(pool, max(1, bounds[0].workers))
    return Sizing(pool, value, tuple(bounds), memory, full, block(pool, value))


def _pool(results: Sequence[StepResult], limit: StepResult | None) -> Pool | None:
    """The pool that is the limit; otherwise Apache's, or the only one there is."""
    newest = next((result.pools for result in reversed(results) if result.pools), ())
    wanted = FPM if limit is not None and limit.bottleneck == "fpm-workers" else HTTPD
    found = [pool for pool in newest if pool.group == wanted]
    if wanted == FPM and len(found) > 1:
        return max(found, key=lambda pool: pool.busy / (pool.capacity or pool.started or 1))
    return next(iter(found), next(iter(newest), None))


def _by_memory(results: Sequence[StepResult], knee: Knee | None, memory: WorkerMemory | None) -> Bound | None:
    """What fits; where swapping was seen, no more than ran calmly before it, and no less."""
    calm = [result.concurrency for result in results if not result.swaps]
    swapping = min((r.concurrency for r in results if r.swaps and r.concurrency > max(calm, default=0)), default=None)
    if memory is None:
        if swapping is None or not calm:
            return None
        return Bound("memory", max(calm), f"nothing was swapped at {max(calm)}, but at {swapping}")
    fits = int(RESERVE * memory.room_kb / memory.worker_kb)
    words = (
        f"{memory.worker_kb / 1024:.1f} MB each by {memory.basis.upper()}"
        f"{', an over-estimate' if memory.basis == 'rss' else ''}; "
        f"{RESERVE:.0%} of {memory.room_kb / 1024:.0f} MB".replace("%", " %")
    )
    if swapping is not None and knee is not None and calm:
        measured = max(*calm, min(fits, swapping - 1))
        return Bound("memory", measured, f"{words}; measured: calm at {max(calm)}, swapping at {swapping}")
    return Bound("memory", fits, words)


def _by_knee(knee: Knee | None) -> Bound | None:
    """As far as the best throughput was seen to hold; nothing where no step with more connections was measured."""
    if knee is None or not knee.bounded:
        return None
    if knee.until > knee.concurrency:
        return Bound("knee", knee.until, f"best from {knee.concurrency} to {knee.until} connections, no better beyond")
    return Bound("knee", knee.until, f"best at {knee.concurrency} connections")


def _by_scoreboard(results: Sequence[StepResult], knee: Knee | None, pool: Pool) -> Bound | None:
    """As many as were ever busy while throughput was at its best, and one for the status page."""
    until = None if knee is None else knee.until
    busy = [
        each.busy_most
        for result in results
        for each in result.pools
        if (each.group, each.name) == (pool.group, pool.name) and (until is None or result.concurrency <= until)
    ]
    if not busy or not max(busy):
        return None
    page = 1 if pool.group == HTTPD else 0
    return Bound("scoreboard", max(busy) + page, f"{max(busy)} were busy at most" + (", and the status page" * page))


def _by_cpu(pool: Pool, limit: StepResult | None) -> Bound | None:
    """A full pool on a free processor: at how many workers the processor would be full (utilisation law)."""
    used = None if limit is None else limit.used
    if used is None or used < 1.0 or not pool.capacity:
        return None
    workers = int(pool.capacity * CPU_FULL / used)
    return Bound("cpu", max(workers, pool.capacity), f"{pool.capacity} of them make the CPU {used:.0f} % busy")


def _by_reach(results: Sequence[StepResult]) -> Bound:
    """No further than load was made: what more would do was not seen."""
    most = max(result.concurrency for result in results)
    return Bound("tested", most + 1, f"{most} connections were tested, and the status page")


RESERVE = 0.9
"""Share of the memory that workers may fill; the rest is for the page cache and for peaks; our own."""

LEAST_STEPS = 3
"""Steps with differing numbers of busy workers from which their growth is told apart from what idle ones take."""


def worker_memory(results: Sequence[StepResult], group: str, name: str) -> WorkerMemory | None:
    """From the steps in which nothing was swapped; ``None`` where memory was not measured."""
    calm = [result for result in results if not result.swaps and result.room_kb is not None]
    known: list[tuple[Pool, float]] = []
    others = 0.0
    for result in calm:
        for pool in result.pools:
            memory = pool.memory_kb
            if memory is None:
                continue
            if (pool.group, pool.name) == (group, name):
                known.append((pool, memory))
            else:
                others = max(others, memory)
    if not known or all(pool.started == 0 for pool, _ in known):
        return None
    room = min(result.room_kb for result in calm if result.room_kb is not None)
    proportional = [(pool, memory) for pool, memory in known if pool.shared_kb is not None]
    # PSS takes a few intervals to come: where most steps have it, the others are left out.
    basis, known = ("pss", proportional) if 2 * len(proportional) >= len(known) else ("rss", known)
    return WorkerMemory(_per_worker(known), basis, max(0.0, room - others))


def _per_worker(known: Sequence[tuple[Pool, float]]) -> float:
    """What an idle worker takes and by how much it grows while it is busy; least squares over the steps."""
    started = max(1.0, sum(pool.started for pool, _ in known) / len(known))
    whole = max(memory / max(1, pool.started) for pool, memory in known)
    busy = [float(pool.busy) for pool, _ in known]
    if len(set(busy)) < LEAST_STEPS:
        return whole
    mean_busy = sum(busy) / len(busy)
    mean_memory = sum(memory for _, memory in known) / len(known)
    spread = sum((each - mean_busy) ** 2 for each in busy)
    growth = sum((each - mean_busy) * (memory - mean_memory) for each, (_, memory) in zip(busy, known, strict=True))
    slope = max(0.0, growth / spread)
    at_rest = max(0.0, mean_memory - slope * mean_busy)
    return max(at_rest / started + slope, 1.0)
