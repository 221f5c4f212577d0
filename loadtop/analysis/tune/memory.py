"""What one busy worker takes, from a sweep: memory grows with the workers that are busy at the same time."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadtop.analysis.tune.servers import Pool
from loadtop.analysis.tune.step import StepResult
from loadtop.model import Group

RESERVE = 0.9
"""Share of the memory that workers may fill; the rest is for the page cache and for peaks; our own."""

LEAST_STEPS = 3
"""Steps with differing numbers of busy workers from which their growth is told apart from what idle ones take."""


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """``worker_kb`` is what a busy worker takes; ``basis`` is ``pss``, or ``rss`` (an over-estimate: shared pages count
    for every process). ``room_kb`` is what this pool's workers may take together."""

    worker_kb: float
    basis: str
    room_kb: float


def worker_memory(results: Sequence[StepResult], group: Group, name: str) -> WorkerMemory | None:
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
