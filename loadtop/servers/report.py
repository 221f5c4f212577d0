"""What a kind of server adds to the JSON summary, the reports and the line per interval."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from loadtop.i18n import Translatable
from loadtop.model.server import ServerReading
from loadtop.rates.records import HostRates, ServerRates

R = TypeVar("R", bound=ServerReading)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart: the name of its series, its title, its colour (``a`` to ``e``), and its value."""

    name: str
    title: Translatable
    colour: str
    read: Callable[[HostRates], float | None]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class ServerChart:
    """A chart of the HTML report, for each machine on which there is something to draw."""

    title: Translatable
    unit: Translatable
    lines: tuple[ChartLine, ...]


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of the table of machines: ``cell`` gives the statistic of a machine's JSON, and of how many it is."""

    title: Translatable
    cell: Callable[[Json], tuple[Json | None, int | None]]


@dataclass(frozen=True, slots=True)
class Report(Generic[R]):
    """``rows`` are those of the text report, from a machine's entry in the JSON summary; ``brief`` is for the line per
    interval; ``settings`` are the names and values that reports list and comparisons compare.

    ``single`` is for kinds of which the JSON summary shows the first server only, as an object: the facts of its newest
    reading. Of the others it has a list, as the record declares.
    """

    rows: Callable[[Json], list[str]]
    brief: Callable[[Sequence[ServerRates[R]]], str]
    settings: Callable[[Sequence[R]], Iterable[tuple[str, str]]]
    single: Callable[[R], Json] | None = None
    columns: tuple[ReportColumn, ...] = ()
    charts: tuple[ServerChart, ...] = ()
