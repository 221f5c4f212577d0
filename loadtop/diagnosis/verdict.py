"""What a verdict is: one record that everything else reads, how it is assessed, and the ranking of causes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from loadtop.diagnosis.finding import Dependency, Evidence
from loadtop.i18n import Message, Parameter, Translatable
from loadtop.model import CgroupLimits, FileLock, Role
from loadtop.rates.measured import HostView, Measured


class Family(StrEnum):
    """What kind of limit a verdict names."""

    NOTHING = "nothing"
    CLIENT = "the generator or its host, not the server"
    ANSWERS = "the server's answers"
    MEMORY = "memory"
    STORAGE = "storage"
    PROCESSOR = "processors"
    NETWORK = "network"
    POOL = "queues and pools of workers, which also fill up if something else is the limit"


class Row(NamedTuple):
    """One value that an assessment is based on; ``None`` where it was not measured. ``below``: it counts below the
    threshold."""

    metric: str
    value: float | None
    threshold: float
    unit: str
    source: str
    below: bool = False


class Assessment(Struct, frozen=True):
    """One resource in one interval.

    ``over``: above the threshold at which it counts as full. ``held``: still above the lower one at which a finding
    stays. ``confidence`` from 0 to 1 is the share of the signals for this resource that were measured and agree.
    ``certain``: one interval is enough, as the system itself has said so (an error, a limit that cannot be met).
    ``gives_way``: whatever else is full comes first, and may be why.
    ``advice`` may be a function, which is called only where the advice is shown: making it takes time.
    ``dependency`` and ``lock`` are those of :class:`loadtop.diagnosis.finding.Finding`.
    """

    over: bool
    held: bool
    evidence: tuple[Row, ...]
    advice: Message | Callable[[], Message]
    confidence: float
    certain: bool = False
    gives_way: bool = False
    dependency: Dependency | None = None
    lock: FileLock | None = None


def exceeds(value: float | None, threshold: float) -> bool | None:
    """A vote: whether the value is above the threshold; ``None`` where it was not measured."""
    return None if value is None else value > threshold


DECISIVE = 0.9
"""Confidence by the decisive signals alone: calibrated with the recordings of the laboratory (docs/lab.md)."""


def agreement(*votes: bool | None) -> float:
    """Confidence from supporting signals: :data:`DECISIVE`, and the rest by how many of ``votes`` agree. A vote is
    ``None`` where its signal could not be measured, and counts as half."""
    if not votes:
        return DECISIVE
    worth = sum(0.5 if vote is None else float(vote) for vote in votes)
    return round(DECISIVE + (1.0 - DECISIVE) * worth / len(votes), 3)


def owner(group: CgroupLimits) -> Parameter:
    """The servers in a control group, as advice names them."""
    return ", ".join(group.servers) or Message("the server")


class Verdict(Struct, frozen=True):
    """One limit that loadtop can name.

    Scripts rely on ``name``; ``letter`` marks it on the timeline. ``title`` (a badge shows it in capitals) and
    ``headline`` are the words of the cockpit, ``sentence`` is that of the reports. ``explains`` holds names and
    families of verdicts that are symptoms of this one. ``role`` is the role of the server that owns the pool: a pool
    explains the pools nearer to the client. ``of_load``, ``of_host`` and, on a host that only generates load,
    ``of_generator`` assess one interval; ``headroom`` returns how much is free. ``intervals`` of the newest three
    must exceed the threshold. ``doubtful``: the limit is not the server's, or not visible. ``clause``: the headline
    is a complete clause. ``titles`` name evidence without a metric.
    ``whole_machine``: what it measures is the same in every container of a machine.
    """

    name: Translatable
    letter: str
    title: Translatable
    headline: Translatable
    sentence: Translatable
    family: Family
    explains: Collection[str] = ()
    role: Role | None = None
    of_load: Callable[[Measured], Assessment | None] | None = None
    of_host: Callable[[Measured, HostView], Assessment | None] | None = None
    of_generator: Callable[[Measured, HostView], Assessment | None] | None = None
    headroom: Callable[[HostView], Iterable[Evidence]] | None = None
    intervals: int = 2
    doubtful: bool = False
    clause: bool = False
    whole_machine: bool = False
    titles: Mapping[str, Translatable] = field(default_factory=dict[str, Translatable])


_PATH = tuple(Role)


def explains(cause: Verdict, other: Verdict) -> bool:
    """Whether ``other`` is declared to be a symptom of ``cause``."""
    if cause is other:
        return False
    if other.name in cause.explains or other.family in cause.explains:
        return True
    if cause.role is not None and other.family is Family.POOL:
        return other.role is None or _PATH.index(cause.role) > _PATH.index(other.role)
    return False


def ranked(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts in the given order, but each right after what explains it, if that comes later. Raises ValueError
    where verdicts explain each other."""
    found: list[Verdict] = []

    def add(verdict: Verdict, *explained: Verdict) -> None:
        if verdict in explained:
            raise ValueError(
                f"verdicts that are causes of each other, in a circle: {', '.join(each.name for each in explained)}"
            )
        if verdict not in found:
            for cause in verdicts:
                if explains(cause, verdict):
                    add(cause, *explained, verdict)
            found.append(verdict)

    for verdict in verdicts:
        add(verdict)
    return tuple(found)
