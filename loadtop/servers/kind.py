"""What a kind of server declares. Everything that deals with servers iterates over the registered kinds."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from loadtop.diagnosis.forecast import Demands
from loadtop.diagnosis.verdict import Verdict
from loadtop.i18n import Text, Translatable
from loadtop.model import Cause, HostSample, Process
from loadtop.model.server import ServerKind, ServerReading
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import HostMetric, sum_known
from loadtop.rates.records import HostRates, ServerRates

R = TypeVar("R", bound=ServerReading)
Json = dict[str, Any]


class Lack(Struct, frozen=True):
    """What is missing although the collector reports no problem, as in an :class:`~loadtop.model.Outcome`."""

    reason: Text = ""
    cause: Cause | None = None
    fix: Text = ""


class ChartLine(Struct, frozen=True):
    """One line of a chart: the name of its series, its title, its colour (``a`` to ``e``), and its value."""

    name: str
    title: Translatable
    colour: str
    read: Callable[[HostRates], float | None]
    dashed: bool = False


class ServerChart(Struct, frozen=True):
    """A chart of the HTML report, for each machine on which there is something to draw."""

    title: Translatable
    unit: Translatable
    lines: tuple[ChartLine, ...]


class ReportColumn(Struct, frozen=True):
    """A column of the table of machines: ``cell`` gives the statistic of a machine's JSON, and of how many it is."""

    title: Translatable
    cell: Callable[[Json], tuple[Json | None, int | None]]


class WorkerPool(Struct, frozen=True):
    """One pool of workers of the kind of server ``kind``; ``name`` is empty where the server has one pool only.

    ``busy`` leaves out the slot that answers the status page; ``busy_most`` is the most of any interval. ``started``
    are slots whose process or thread exists. ``manager`` is an MPM, or ``pm``. Memory is that of all its processes in
    kB: RSS, and what the pages that they share add to it (``None`` where PSS cannot be read).
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


class Workers(Struct, Generic[R], frozen=True):
    """How the workers of a kind of server are measured and limited.

    ``setting`` is the directive that limits them, ``verdict`` the limit that is named where a pool is full. ``allowed``
    is the number of workers that the ``configuration`` for that number allows. ``takes_page``: the status page takes
    one of these workers. ``enable`` says how to make the pools visible (empty: they always are), ``apply`` how a new
    setting takes effect.
    """

    setting: str
    verdict: str
    pools: Callable[[Sequence[ServerRates[R]], Sequence[Process]], Iterable[WorkerPool]]
    allowed: Callable[[WorkerPool, int], int]
    configuration: Callable[[WorkerPool, int], str]
    takes_page: bool
    enable: Translatable
    apply: Translatable


class Kind(ServerKind, Generic[R], frozen=True, kw_only=True):
    """A kind of server: the values that are read, what is shown, and its possible limits.

    ``title`` is its name for people. ``record`` is the type of one reading. ``rows`` are those of the text report, from
    a machine's entry in the JSON summary; ``brief`` is for the line per interval; ``settings`` are the names and values
    that reports list and comparisons compare. ``single`` is for kinds of which the JSON summary shows the first server
    only, as an object, not a list: the facts of its newest reading. For ``loadtop doctor``, ``seen`` describes what was
    read, and ``lacks`` finds what is missing in it; both get at least one reading.
    """

    title: str
    record: type[R]
    metrics: tuple[HostMetric, ...]
    rows: Callable[[Json], list[str]]
    brief: Callable[[Sequence[ServerRates[R]]], str]
    seen: Callable[[tuple[R, ...]], Text]
    verdicts: tuple[Verdict, ...] = ()
    demands: Demands = lambda _, __, ___: {}
    settings: Callable[[Sequence[R]], Iterable[tuple[str, str]]] = lambda _: ()
    single: Callable[[R], Json] | None = None
    columns: tuple[ReportColumn, ...] = ()
    charts: tuple[ServerChart, ...] = ()
    lacks: Callable[[tuple[R, ...], HostSample], Lack] = lambda _, __: Lack()
    workers: Workers[R] | None = None

    def readings(self, sample: HostSample | None) -> tuple[R, ...]:
        return () if sample is None else cast("tuple[R, ...]", sample.servers.get(self.name, ()))

    def rates(self, rates: HostRates | None) -> tuple[ServerRates[R], ...]:
        """What was read of this kind, with the rates of its counters."""
        return () if rates is None else rates.of_kind(self.name, self.record)

    def read(self, metric: str) -> Callable[[HostView], float | None]:
        """How the metric of this name is read of a machine."""
        return next(each.read for each in self.metrics if each.name == metric)


AnyKind = Kind[Any]  # a kind whatever its readings are: what the registry holds


def summed(kind: str, record: type[ServerReading], field: str) -> Callable[[HostView], float | None]:
    """Reads the gauge or the rate of this field, over all servers of the kind on a machine."""

    def read(host: HostView) -> float | None:
        servers = host.servers(kind, record)
        return sum_known(each.per_second.get(field, getattr(each.reading, field)) for each in servers)

    return read


def pool_memory(processes: Sequence[Process]) -> tuple[int | None, float | None]:
    """RSS of these processes together, and by how much it counts shared pages twice. PSS is read of few processes at a
    time, but the shared part hardly changes: the median stands for unknown ones, and bounds those that grew."""
    if not processes:
        return None, None
    rss = sum(process.rss_kb for process in processes)
    known = [process.rss_kb - process.pss_kb for process in processes if process.pss_kb is not None]
    if 2 * len(known) < len(processes):
        return rss, None
    usual = max(0.0, median(known))
    shares = (usual if p.pss_kb is None else max(0.0, p.rss_kb - p.pss_kb) for p in processes)
    return rss, sum(min(usual, share) for share in shares)
