"""What a kind of server declares. Everything that deals with servers iterates over the registered kinds."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from loadtop.diagnosis.forecast import Demands
from loadtop.diagnosis.verdict import Verdict
from loadtop.model import HostSample
from loadtop.model.server import ServerKind, ServerReading
from loadtop.rates.metrics import HostMetric
from loadtop.rates.records import HostRates, ServerRates
from loadtop.servers.checks import Checks
from loadtop.servers.report import Report
from loadtop.servers.workers import Workers

R = TypeVar("R", bound=ServerReading)


@dataclass(frozen=True, slots=True)
class StatusOption:
    """The option that names a status page: ``--NAME [HOST:]URL``. ``forms`` shows URLs that match ``pattern``."""

    help: str
    forms: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Kind(ServerKind, Generic[R]):
    """A kind of server: what is read of it, what is shown, and which limits it can have.

    ``title`` is its name for people. ``record`` is the type of one reading.
    """

    title: str
    record: type[R]
    option: StatusOption
    metrics: tuple[HostMetric, ...]
    verdicts: tuple[Verdict, ...]
    demands: Demands
    report: Report[R]
    checks: Checks[R]
    workers: Workers[R] | None = None

    def readings(self, sample: HostSample | None) -> tuple[R, ...]:
        """What was read of this kind in a sample."""
        return () if sample is None else cast("tuple[R, ...]", sample.servers.get(self.name, ()))

    def rates(self, rates: HostRates | None) -> tuple[ServerRates[R], ...]:
        """What was read of this kind, with the rates of its counters."""
        return () if rates is None else rates.of_kind(self.name, self.record)


AnyKind = Kind[Any]
"""A kind whatever its readings are: what the registry holds."""
