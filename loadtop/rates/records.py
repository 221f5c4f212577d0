"""What is computed from two samples: frozen types of rates and shares. :mod:`loadtop.rates.compute` fills them.

``None`` means that there was nothing to compute it from, and is never 0. Shares are percent.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

from msgspec import Struct, field

from loadtop.model import Limited, Process, Role
from loadtop.model.server import ServerReading

R = TypeVar("R", bound=ServerReading)


class CpuShares(Struct, frozen=True):
    """Percent of the time in each state; ``user`` and ``nice`` contain guests. ``None``: this system does not tell."""

    user: float
    nice: float
    system: float
    idle: float
    iowait: float | None
    irq: float | None
    softirq: float | None
    steal: float | None

    @property
    def busy(self) -> float:
        """Percent of the time spent computing here: neither idle, nor waiting for a disk, nor stolen."""
        return self.user + self.nice + self.system + (self.irq or 0.0) + (self.softirq or 0.0)

    @property
    def delivered(self) -> float:
        """Percent of the time that the hypervisor left to this machine."""
        return 100.0 - (self.steal or 0.0)

    @property
    def used(self) -> float:
        """Percent of what was delivered that was spent computing."""
        return 100.0 * self.busy / self.delivered if self.delivered > 0 else 0.0

    @property
    def kernel(self) -> float:
        """Percent of the time in the kernel: system and interrupts."""
        return self.system + (self.irq or 0.0) + (self.softirq or 0.0)


class CoreShares(Struct, frozen=True):
    id: int
    shares: CpuShares


class PagingRates(Struct, frozen=True):
    """Per second: swap traffic in kB, major faults, pages of direct reclaim, refaults, OOM kills."""

    swap_in_kb: float | None
    swap_out_kb: float | None
    major_faults: float | None
    direct_reclaimed_pages: float | None
    allocation_stalls: float | None
    refaults_pages: float | None
    oom_kills: float | None

    @property
    def swap_kb(self) -> float | None:
        """Swap traffic in both directions; ``None`` where one of them was not measured."""
        return None if self.swap_in_kb is None or self.swap_out_kb is None else self.swap_in_kb + self.swap_out_kb


class PressureShares(Struct, frozen=True):
    """Percent of the interval in which some (or all: full) tasks were stalled."""

    cpu_some: float | None
    memory_some: float | None
    memory_full: float | None
    io_some: float | None
    io_full: float | None


class DiskRates(Struct, frozen=True):
    """``util`` percent of time with I/O in flight, ``await_ms`` mean time per request (``None`` without requests),
    ``queue`` mean requests in flight, throughput in kB/s and requests/s."""

    name: str
    util: float | None
    await_ms: float | None
    queue: float | None
    read_kb: float
    write_kb: float
    requests: float
    swap: bool


class NetworkRates(Struct, frozen=True):
    """Per second; ``util`` is the fuller direction in percent of what is possible there, where that is known.

    Only where a queueing discipline shapes what is sent, these are not ``None``: the rate that it leaves, packets that
    it dropped and how often it held one back, per second, and the packets that wait in it (a gauge). The last two are
    those of a policer of what is received: the rate that it leaves, and the packets over it per second."""

    name: str
    rx_kb: float
    tx_kb: float
    rx_packets: float
    tx_packets: float
    errors: float
    link_mbit: int | float | None
    util: float | None
    shaped_mbit: float | None = None
    queue_drops: float | None = None
    queue_overlimits: float | None = None
    queue_backlog: int | None = None
    policed_mbit: float | None = None
    policed_drops: float | None = None

    @property
    def sends(self) -> bool:
        """Whether out is the fuller direction."""
        if self.shaped_mbit is None and self.policed_mbit is None:
            return self.tx_kb >= self.rx_kb
        out, into = self.shaped_mbit or self.link_mbit, self.policed_mbit or self.link_mbit
        return (self.tx_kb / out if out else 0.0) >= (self.rx_kb / into if into else 0.0)

    @property
    def possible_mbit(self) -> float | None:
        """What is possible in the fuller direction, in Mbit/s."""
        return (self.shaped_mbit if self.sends else self.policed_mbit) or self.link_mbit


class TcpRates(Struct, frozen=True):
    """Per second; ``time_wait``, ``in_use`` and ``established`` are gauges."""

    listen_overflows: float | None
    listen_drops: float | None
    retransmits: float | None
    passive_opens: float | None
    active_opens: float | None
    time_wait: int | None
    in_use: int | None
    established: int | None


class ProcessRates(Struct, frozen=True):
    """One process; ``cpu`` is percent of one core, ``None`` in its first sample. ``wait`` is how long its threads were
    runnable without a processor, in the same unit: 100 where one thread waits all the time. ``children`` is the CPU
    time of the brief children of a server, several at once: it counts in :class:`GroupRates` only."""

    process: Process
    cpu: float | None
    wait: float | None = None
    children: float = 0.0


class GroupRates(Struct, frozen=True):
    """All processes of one group; ``cpu`` is percent of one core (200 is two full cores), memory sums in kB.
    ``running`` counts state R, ``blocked`` state D. ``pss_kb`` is ``None`` unless it was read for every process.
    ``wait`` is how long they were runnable without a processor, in percent of one core; ``None`` unless it was read for
    every process but new ones."""

    group: str
    role: Role | None
    processes: int
    running: int
    blocked: int
    threads: int
    cpu: float | None
    rss_kb: int
    pss_kb: int | None
    wait: float | None = None


class IoLimitRates(Struct, frozen=True):
    """How much of a limit on a device is used: ``used`` of ``most`` per second, requests or bytes."""

    device: str
    limited: Limited
    most: int
    used: float

    @property
    def percent(self) -> float:
        return 100.0 * self.used / self.most


class CgroupRates(Struct, frozen=True):
    """The control group of a server: percent of its periods that were throttled, how long in all (ms per second), hits
    of its memory limit per second, and its own stalls."""

    throttled: float | None
    throttled_ms: float | None
    memory_failures: float | None
    pressure: PressureShares | None
    path: str = ""
    io: tuple[IoLimitRates, ...] = ()


class PeerRates(Struct, frozen=True):
    """A service that the processes under test ask; address, kind, depth, ``watched`` and
    ``by_connection`` are those of :class:`loadtop.model.Peer`.

    ``connections`` and ``questions`` are means over ``readings``, ``age_ms`` is the mean age of the pending requests
    (``None`` where there were none). ``exchanges`` per second are the data segments sent: a question that takes several
    counts as several, and one on a connection that opened and closed between two readings is missed. ``None``: too many
    are missed, and the rate would mislead. ``host`` is the other machine of the watched ones that has this address.
    """

    address: str
    kind: str | None
    depth: int
    readings: int
    connections: float
    questions: float
    age_ms: float | None
    exchanges: float | None
    watched: bool = False
    host: str | None = None
    by_connection: bool = False

    @property
    def exchange_ms(self) -> float | None:
        """The mean time of an exchange by Little's law."""
        return 1000.0 * self.questions / self.exchanges if self.exchanges else None


class ServerRates(Struct, Generic[R], frozen=True):
    """A reading, and the rates of its counters per second by the name of their field. A rate is ``None`` in the first
    reading, after a restart of the server, and where a counter fell."""

    reading: R
    per_second: Mapping[str, float | None]


class HostRates(Struct, frozen=True):
    """All rates of one machine over ``seconds`` of its clock. Parts are ``None`` where not measured twice."""

    seconds: float
    cpu: CpuShares | None
    cores: tuple[CoreShares, ...]
    paging: PagingRates | None
    pressure: PressureShares | None
    disks: tuple[DiskRates, ...] | None
    networks: tuple[NetworkRates, ...] | None
    tcp: TcpRates | None
    processes: tuple[ProcessRates, ...] | None
    groups: tuple[GroupRates, ...] | None
    servers: Mapping[str, tuple[ServerRates[ServerReading], ...]]
    cgroup: CgroupRates | None = None
    peers: tuple[PeerRates, ...] | None = None
    more_cgroups: tuple[CgroupRates, ...] = ()
    peers_before: tuple[PeerRates, ...] | None = None
    """Those of an earlier interval, where this one has no new reading of connections."""

    queued: Mapping[int, float] = {}
    """The mean number of connections in accept queues by port, over several moments; some at which none waited are
    missing."""

    def of_kind(self, name: str, record: type[R]) -> tuple[ServerRates[R], ...]:
        """The servers of one kind, whose readings are of type ``record``."""
        found = self.servers.get(name, ())
        return cast("tuple[ServerRates[R], ...]", tuple([each for each in found if isinstance(each.reading, record)]))

    def group(self, group: str) -> GroupRates | None:
        """The sums over one group's processes, or ``None`` where it has none or processes were not read."""
        return next((g for g in self.groups or () if g.group == group), None)

    def of_role(self, *roles: Role) -> tuple[GroupRates, ...]:
        """The groups of the servers that have one of these roles; of all servers where none is named."""
        return tuple(g for g in self.groups or () if g.role is not None and (not roles or g.role in roles))


class GeneratorRates(Struct, frozen=True):
    """``busiest`` is the busiest worker's processor share in percent of one core, ``cpu`` that of all workers;
    ``throttled`` the percentage of the periods in which a quota stopped them, ``None`` where there is none.

    ``wanted`` is the most that one worker used and waited for of a core, in percent, and ``wait`` what it waited of
    that; ``waits`` is what all workers waited. ``None`` where waits are not known.

    ``late`` and ``unsent`` are requests per second; ``None`` if an engine does not report them."""

    cpu: float
    busiest: float
    workers: int
    loop_delay_ms: float | None
    late: float | None
    unsent: float | None
    throttled: float | None = None
    wait: float | None = None
    wanted: float | None = None
    waits: float | None = None


class LoadRates(Struct, frozen=True):
    """Per second of the generator's clock; shares are percent of the requests. ``None``: the engine does not tell.

    ``broken`` is the share of each class of :class:`loadtop.model.Failures` that was met, and as ``status`` that of
    server errors. Bodies of another ``length`` are left out: pages that differ are not broken. ``in_flight`` is the
    mean number of requests in flight at the beginning and at the end."""

    seconds: float
    rps: float | None
    failed: float | None
    failed_share: float | None
    non_2xx_share: float | None
    received_kb: float | None
    sent_kb: float | None
    generator: GeneratorRates | None
    broken: Mapping[str, float] = field(default_factory=dict[str, float])
    in_flight: float | None = None
