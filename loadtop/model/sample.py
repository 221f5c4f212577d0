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


class Cause(StrEnum):
    """Why a collector has less than it could have, where that says what to do."""

    NOTHING = "nothing"
    """There is nothing of the kind on this machine, or it is not wanted: there is nothing to fix."""
    PENDING = "pending"
    """It is still being looked for or waited for."""
    ROOT = "root"
    """Only root may read it."""
    SOCKET = "socket"
    """This user may not use a server's socket."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one collector fared in one sample: its state, the reason where that is not ``ok``, and its own duration.

    ``reason`` can also say what an ``ok`` collector lacks. ``fix`` is what to paste or type to get it: a string as it
    stands, a message where there is something to translate in it.
    """

    collector: str
    state: State
    reason: Text = ""
    duration_s: float = 0.0
    cause: Cause | None = None
    fix: Text = ""


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
    servers: Mapping[str, tuple[ServerReading, ...]] = field(default_factory=dict[str, tuple[ServerReading, ...]])
    outcomes: tuple[Outcome, ...] = ()
