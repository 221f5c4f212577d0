"""What a worker process tells its parent: lines of JSON on its standard output."""

from dataclasses import dataclass

from loadtop.generator.measurements import Counters
from loadtop.i18n.message import Message
from loadtop.model import Latencies, LoadState, ServerSeen


@dataclass(frozen=True, slots=True)
class Handover:
    """Where a worker stands that gives a part of its load to a new one.

    ``step`` counts from 0; ``requests`` are those given away (None: the step has no limit of requests). Times are
    seconds of the monotonic clock: when counting started, when the step ends and when the warm-up ends, where they do.
    ``finishing``: the worker sends no more requests.
    """

    finishing: bool
    step: int
    requests: int | None
    started: float
    ends: float | None
    warmup_ends: float | None
    concurrency: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """One worker at one moment, several times a second.

    ``at`` is the monotonic clock in seconds, which all processes of a machine share. ``step`` counts from 1;
    ``waits_after`` is the step after which the worker waits for the others, or 0. ``latencies`` and ``verbose_text``
    (-v) are those since the last report.
    """

    at: float
    state: LoadState
    message: Message | None
    elapsed_s: float
    step: int
    waits_after: int
    concurrency: int
    rate: float | None
    in_flight: int
    connections: int
    counters: Counters
    cpu_s: float
    loop_delay_s: float
    files_used: int
    files_limit: int
    ports_used: int | None
    ports_limit: int | None
    latencies: Latencies | None = None
    server: ServerSeen | None = None
    verbose_text: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """One line: a report, or the answer to ``hand_over``."""

    report: Report | None = None
    handover: Handover | None = None
