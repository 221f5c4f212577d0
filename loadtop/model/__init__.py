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
    USER_HZ,
    CgroupLimits,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    Group,
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
from loadtop.model.sample import HostSample, Outcome, State
from loadtop.model.server import ApacheStatus, FpmPool, HaproxyProxy

__all__ = [
    "MISSING",
    "USER_HZ",
    "ApacheStatus",
    "CgroupLimits",
    "Core",
    "Cpu",
    "CpuTimes",
    "Disk",
    "Distribution",
    "EngineWorker",
    "Failures",
    "FpmPool",
    "Frame",
    "GeneratorSample",
    "Group",
    "HaproxyProxy",
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
    "Scheduler",
    "ServerSeen",
    "State",
    "StatedTimes",
    "Swap",
    "Tcp",
]
