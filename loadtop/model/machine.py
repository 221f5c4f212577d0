"""Everything read from one machine at one moment: raw counters as its kernel gives them, and how collectors fared."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from loadtop.i18n import Text
from loadtop.model.server import ServerReading
from loadtop.model.waits import FileLock, Peers

USER_HZ = 100  # ticks per second in which CPU time is kept: Linux's on all common architectures


class HostFacts(Struct, frozen=True):
    """What does not change while a machine runs. ``source`` is ``local``, ``ssh://...`` or ``exec:COMMAND``.
    Hosts with the same ``boot_id`` are one machine under several names, as containers are; it is empty where it is not
    known. ``addresses`` are those at which other machines may find it."""

    hostname: str
    source: str
    system: str
    kernel: str
    cores: int
    memory_kb: int | None = None
    page_kb: int = 4
    boot_id: str = ""
    addresses: tuple[str, ...] = ()


class CpuTimes(Struct, frozen=True):
    """CPU time since boot, in ticks of 1/USER_HZ s. As on Linux, ``user`` contains ``guest`` and ``nice``
    contains ``guest_nice``. ``None``: the system does not tell."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int | None = None
    irq: int | None = None
    softirq: int | None = None
    steal: int | None = None
    guest: int | None = None
    guest_nice: int | None = None


class Core(Struct, frozen=True):
    """One processor as the kernel numbers it. Cores that are offline are missing, so ids may have gaps."""

    id: int
    times: CpuTimes


class Cpu(Struct, frozen=True):
    total: CpuTimes
    cores: tuple[Core, ...]


class CoreSpeed(Struct, frozen=True):
    """How fast one core can compute. ``capacity`` is 1024 for the largest cores, ``khz`` its frequency when it was read
    last (every few samples), ``highest_khz`` the one that it can have. ``None``: the system does not tell."""

    core: int
    capacity: int | None = None
    khz: int | None = None
    highest_khz: int | None = None


class Scheduler(Struct, frozen=True):
    """Load averages; tasks running or ready (but for the reader) and in uninterruptible sleep; counters since boot."""

    load1: float
    load5: float
    load15: float
    running: int | None = None
    blocked: int | None = None
    tasks: int | None = None
    context_switches: int | None = None
    forks: int | None = None


class Memory(Struct, frozen=True):
    """Gauges in kB. ``available_kb`` is missing on kernels before 3.14."""

    total_kb: int
    free_kb: int
    available_kb: int | None = None
    buffers_kb: int | None = None
    cached_kb: int | None = None
    dirty_kb: int | None = None
    writeback_kb: int | None = None
    reclaimable_kb: int | None = None
    shared_kb: int | None = None

    @property
    def available_pct(self) -> float | None:
        """Percent of the memory that is available. ``None`` if unknown: a machine can report a total of 0."""
        if self.available_kb is None or not self.total_kb:
            return None
        return 100.0 * self.available_kb / self.total_kb


class Swap(Struct, frozen=True):
    """Swap occupancy in kB (gauges). Occupancy alone is no signal; traffic is in :class:`Paging`."""

    total_kb: int
    free_kb: int
    cached_kb: int | None = None


class Paging(Struct, frozen=True):
    """Counters since boot: swap traffic in kB, major faults, direct reclaim and refaults in pages, OOM kills."""

    swap_in_kb: int
    swap_out_kb: int
    major_faults: int | None = None
    direct_scanned_pages: int | None = None
    direct_reclaimed_pages: int | None = None
    allocation_stalls: int | None = None
    refaults_anon_pages: int | None = None
    refaults_file_pages: int | None = None
    oom_kills: int | None = None


class Pressure(Struct, frozen=True):
    """Pressure stall totals since boot in microseconds (the ``total=`` of /proc/pressure or of a cgroup)."""

    cpu_some_us: int | None = None
    memory_some_us: int | None = None
    memory_full_us: int | None = None
    io_some_us: int | None = None
    io_full_us: int | None = None


class Disk(Struct, frozen=True):
    """One whole block device; counters since boot, times in ms. ``swap`` says that it carries (only) swap."""

    name: str
    reads: int
    read_kb: int
    read_ms: int
    writes: int
    write_kb: int
    write_ms: int
    in_flight: int | None = None
    busy_ms: int | None = None
    queue_ms: int | None = None
    swap: bool = False


class Network(Struct, frozen=True):
    """One interface; counters since it came up. ``link_mbit`` is the link speed if the system reports it.

    ``shaped_mbit`` is the rate to which a queueing discipline limits what it sends. Only where there is one, the
    figures of its queue are not ``None``: packets that it dropped, how often it held one back, and how many wait in it
    now. ``policed_mbit`` is the rate over which a policer drops what is received, and ``policed_drops`` the packets
    that were over it."""

    name: str
    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    rx_errors: int = 0
    tx_errors: int = 0
    rx_drops: int = 0
    tx_drops: int = 0
    link_mbit: int | float | None = None
    shaped_mbit: float | None = None
    queue_drops: int | None = None
    queue_overlimits: int | None = None
    queue_backlog: int | None = None
    policed_mbit: float | None = None
    policed_drops: int | None = None

    @property
    def sends_mbit(self) -> float | None:
        """The most that it can send in Mbit/s, where that is known."""
        return min((mbit for mbit in (self.link_mbit, self.shaped_mbit) if mbit), default=None)

    @property
    def receives_mbit(self) -> float | None:
        """The most that it can receive in Mbit/s, where that is known."""
        return min((mbit for mbit in (self.link_mbit, self.policed_mbit) if mbit), default=None)


class Listener(Struct, frozen=True):
    """A listening TCP port and its accept queue: connections waiting now, and the limit where it can be read."""

    port: int
    queue: int
    backlog: int | None = None


class Tcp(Struct, frozen=True):
    """Counters of this network namespace since boot; ``time_wait``, ``in_use`` and ``established`` are gauges."""

    listen_overflows: int | None = None
    listen_drops: int | None = None
    retransmits: int | None = None
    out_segments: int | None = None
    passive_opens: int | None = None
    active_opens: int | None = None
    established: int | None = None
    time_wait: int | None = None
    in_use: int | None = None
    listeners: tuple[Listener, ...] = ()


SERVICE, LOADTOP, OTHER = "service", "loadtop", "other"
"""The groups of processes of no known kind of server: those that serve the tested requests all the same, the load
generator with this program, and everything else."""


class Process(Struct, frozen=True):
    """One process. ``cpu_ticks`` is a counter. ``child_ticks`` is another, of children that ended before they were read
    (CGI programs, for example); processes of :data:`OTHER` have these in ``cpu_ticks``. ``started_ticks`` (after boot)
    tells a reused pid from the same one.

    ``wait_ns`` counts how long its threads were runnable without a processor, because others had it or a CPU quota
    stopped them. The kernel adds a wait when it ends. What a thread waited between its last reading and its end is
    lost. ``run_us`` counts how long they had a processor, in microseconds where ``cpu_ticks`` are 10 ms; of threads
    that have ended, up to 40 ms are counted later. ``None``: not read. Source: the first two fields of ``schedstat``,
    Linux, Documentation/scheduler/sched-stats.rst.
    """

    pid: int
    name: str
    group: str
    state: str
    threads: int
    cpu_ticks: int
    started_ticks: int
    rss_kb: int
    pss_kb: int | None = None
    wait_ns: int | None = None
    child_ticks: int = 0
    run_us: int | None = None


class Limited(StrEnum):
    """What a control group may have of a device per second: requests, or bytes."""

    READS = "reads"
    WRITES = "writes"
    READ_BYTES = "read_bytes"
    WRITTEN_BYTES = "written_bytes"


class IoLimit(Struct, frozen=True):
    """One limit of a control group on a device: ``most`` per second, and the counter of what it has had, ``done``.
    ``group`` tells the limits of a group and its ancestors apart."""

    device: str
    group: str
    limited: Limited
    most: int
    done: int


class CgroupLimits(Struct, frozen=True):
    """The control group of a server under test. Limits are ``None`` where there is none; counters in microseconds.
    ``servers`` are the names under which the processes of those in it are listed."""

    path: str
    version: int
    cpu_quota_us: int | None = None
    cpu_period_us: int | None = None
    periods: int | None = None
    throttled_periods: int | None = None
    throttled_us: int | None = None
    memory_limit_kb: int | None = None
    memory_used_kb: int | None = None
    memory_failures: int | None = None
    pressure: Pressure | None = None
    servers: tuple[str, ...] = ()
    io: tuple[IoLimit, ...] = ()


class State(StrEnum):
    """What a collector can say of its source."""

    OK = "ok"
    ABSENT = "absent"
    FAILED = "failed"


class Cause(StrEnum):
    """Why a collector has less than it could have, where that says what to do."""

    NOTHING = "nothing"  # nothing of the kind is on this machine, or it is not wanted: there is nothing to fix
    PENDING = "pending"  # it is still being looked for or waited for
    ROOT = "root"  # only root may read it
    SOCKET = "socket"  # this user may not use a server's socket


class Outcome(Struct, frozen=True):
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


class HostSample(Struct, frozen=True):
    """Everything read from one machine at one moment.

    ``at`` is that machine's own uptime in seconds, so network delay does not distort rates. A part that is ``None`` has
    an :class:`Outcome` that says why; the same holds for a kind missing from ``servers``. ``facts`` is one object for
    all samples. ``sleeping`` is how many threads of the servers under test wait for a timer, as far as can be told,
    ``blocked_threads`` how many of them wait in an uninterruptible sleep, both on average over several moments, and
    ``timeouts_ms`` how long their event loops waited at most until their next timer was due (0: they had none).
    ``cgroup`` is the control group of the web server, or of the only server under test, and ``more_cgroups`` those of
    others that are in another one.
    """

    host: str
    at: float
    facts: HostFacts
    took_s: float = 0.0
    cpu: Cpu | None = None
    core_speeds: tuple[CoreSpeed, ...] = ()
    scheduler: Scheduler | None = None
    memory: Memory | None = None
    swap: Swap | None = None
    paging: Paging | None = None
    pressure: Pressure | None = None
    disks: tuple[Disk, ...] | None = None
    networks: tuple[Network, ...] | None = None
    tcp: Tcp | None = None
    processes: tuple[Process, ...] | None = None
    sleeping: float | None = None
    blocked_threads: float | None = None
    timeouts_ms: tuple[int, ...] = ()
    cgroup: CgroupLimits | None = None
    more_cgroups: tuple[CgroupLimits, ...] = ()
    peers: Peers | None = None
    locks: tuple[FileLock, ...] | None = None
    servers: Mapping[str, tuple[ServerReading, ...]] = field(default_factory=dict[str, tuple[ServerReading, ...]])
    outcomes: tuple[Outcome, ...] = ()

    def cgroup_of(self, group: str) -> CgroupLimits | None:
        """The control group in which the processes are that are listed under this name; ``None`` if it is not known."""
        groups = (self.cgroup, *self.more_cgroups)
        found = next((each for each in groups if each is not None and group in each.servers), None)
        is_only = self.cgroup is not None and not self.cgroup.servers  # whose it is was not recorded formerly
        return self.cgroup if found is None and is_only else found
