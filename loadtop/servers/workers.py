"""Pools of workers: what ``tune`` measures of them, and how their size is set."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

from loadtop.i18n import Translatable
from loadtop.model import Process
from loadtop.model.server import ServerReading
from loadtop.rates.records import ServerRates

R = TypeVar("R", bound=ServerReading)


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """One pool of workers of the kind of server ``kind``; ``name`` is empty where the server has one pool only.

    ``busy`` leaves out the slot that answers the status page; ``busy_most`` is the most of any interval. ``started``
    are slots whose process or thread exists. ``manager`` says how workers are started (an MPM, or ``pm``).
    Memory is that of all its processes in kB: RSS, and what the pages that they share add to it (``None`` where PSS
    cannot be read).
    """

    kind: str
    name: str
    manager: str
    capacity: int | None
    started: int
    busy: int
    busy_most: int
    threads_per_child: int | None
    processes: int
    rss_kb: int | None
    shared_kb: float | None

    @property
    def memory_kb(self) -> float | None:
        """Proportional memory, followed by RSS between the readings of PSS; plain RSS where there is none."""
        if self.rss_kb is None:
            return None
        return self.rss_kb if self.shared_kb is None else max(0.0, self.rss_kb - self.shared_kb)


@dataclass(frozen=True, slots=True)
class Workers(Generic[R]):
    """How the workers of a kind of server are measured and limited.

    ``setting`` is the directive that limits them, ``verdict`` the limit that is named where a pool is full. ``pools``
    reads the pools of a machine from the servers and their processes. ``allowed`` is how many workers the
    ``configuration`` for so many allows. ``takes_page``: the status page takes one of these workers. ``enable`` says
    how to make the pools visible, ``apply`` how a new setting takes effect.
    """

    setting: str
    verdict: str
    pools: Callable[[Sequence[ServerRates[R]], Sequence[Process]], Iterable[WorkerPool]]
    allowed: Callable[[WorkerPool, int], int]
    configuration: Callable[[WorkerPool, int], str]
    takes_page: bool
    enable: Translatable
    apply: Translatable


def pool_memory(processes: Sequence[Process]) -> tuple[int | None, float | None]:
    """RSS of these processes together, and by how much it counts shared pages twice.

    PSS is read of few processes at a time, so it is older than RSS. The shared part hardly changes: the median over the
    processes stands for those of which it is not known, and bounds it where a process has grown since.
    """
    if not processes:
        return None, None
    rss = sum(process.rss_kb for process in processes)
    known = [process.rss_kb - process.pss_kb for process in processes if process.pss_kb is not None]
    if 2 * len(known) < len(processes):
        return rss, None
    usual = max(0.0, median(known))
    shares = (usual if p.pss_kb is None else max(0.0, p.rss_kb - p.pss_kb) for p in processes)
    return rss, sum(min(usual, share) for share in shares)
