"""What is measured: frozen types of raw counters, as read, before any rate is computed.

Every number is a counter or a gauge exactly as a machine gave it; ``None`` means "not measured" and is never 0.
Counters only become rates in :mod:`loadtop.rates.compute`. Units are in the names or in the docstring of the type.
"""

from loadtop.model.frame import Frame, HostState
from loadtop.model.load import (
    MISSING,
    Distribution,
    EngineWorker,
    Failures,
    GeneratorSample,
    Latencies,
    LoadSample,
    LoadState,
    ServerSeen,
    StatedTimes,
)
from loadtop.model.machine import (
    LOADTOP,
    OTHER,
    USER_HZ,
    CgroupLimits,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    HostFacts,
    Listener,
    Memory,
    Network,
    Paging,
    Pressure,
    Process,
    Scheduler,
    Swap,
    Tcp,
)
from loadtop.model.sample import Cause, HostSample, Outcome, State
from loadtop.model.server import Role, ServerKind, ServerReading

__all__ = [
    "LOADTOP",
    "MISSING",
    "OTHER",
    "USER_HZ",
    "Cause",
    "CgroupLimits",
    "Core",
    "Cpu",
    "CpuTimes",
    "Disk",
    "Distribution",
    "EngineWorker",
    "Failures",
    "Frame",
    "GeneratorSample",
    "HostFacts",
    "HostSample",
    "HostState",
    "Latencies",
    "Listener",
    "LoadSample",
    "LoadState",
    "Memory",
    "Network",
    "Outcome",
    "Paging",
    "Pressure",
    "Process",
    "Role",
    "Scheduler",
    "ServerKind",
    "ServerReading",
    "ServerSeen",
    "State",
    "StatedTimes",
    "Swap",
    "Tcp",
]
