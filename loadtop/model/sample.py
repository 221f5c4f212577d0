"""Everything read from one machine at one moment, and how each collector fared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from loadtop.i18n import Text
from loadtop.model.machine import (
    CgroupLimits,
    Cpu,
    Disk,
    HostFacts,
    Memory,
    Network,
    Paging,
    Pressure,
    Process,
    Scheduler,
    Swap,
    Tcp,
)
from loadtop.model.server import ServerReading


class State(StrEnum):
    """What a collector can say of its source."""

    OK = "ok"
    ABSENT = "absent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one collector fared in one sample: its state, the reason where that is not ``ok``, and its own duration."""

    collector: str
    state: State
    reason: Text = ""
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class HostSample:
    """Everything read from one machine at one moment.

    ``at`` is that machine's own uptime in seconds: network delay bends no rate. A part that is ``None`` has an
    :class:`Outcome` that says why; so has a kind of server that is missing in ``servers``. ``facts`` is the same
    object in every sample of a host.
    """

    host: str
    at: float
    facts: HostFacts
    took_s: float = 0.0
    cpu: Cpu | None = None
    scheduler: Scheduler | None = None
    memory: Memory | None = None
    swap: Swap | None = None
    paging: Paging | None = None
    pressure: Pressure | None = None
    disks: tuple[Disk, ...] | None = None
    networks: tuple[Network, ...] | None = None
    tcp: Tcp | None = None
    processes: tuple[Process, ...] | None = None
    cgroup: CgroupLimits | None = None
    servers: Mapping[str, tuple[ServerReading, ...]] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
