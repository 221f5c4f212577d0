"""Where the mean response time goes.

Little's law (L = X * W): the mean number of requests in a state, divided by the throughput, is the time that a request
spends in that state. The throughput is known from outside, the numbers are counted inside: open questions, processes on
a CPU or waiting for one, processes blocked, connections in queues, threads that sleep until a timer wakes them. What no
state accounts for stays unexplained: work of the kernel, threads of an unknown service, a service on pooled connections
to a unix socket. A request that is counted twice (it computes in parallel, or a connection waits without a request)
makes the rest negative.

The law holds for an interval in which about as many requests begin as end. Where few end, most of what was counted
belongs to requests that end later, and dividing by the throughput gives more than the mean time: a server that swaps
ends 2 of 20 requests in a second. There, the requests in progress are divided by their states, and the mean time of
those that ended in the same proportion. In a steady state, both are the same: N = X * W requests are in progress.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from loadtop.i18n import Translatable
from loadtop.model import (
    LOADTOP,
    SERVICE,
    SERVING,
    Distribution,
    LoadSample,
    Role,
    ServerKind,
    ServerReading,
)
from loadtop.model.histogram import mean
from loadtop.model.places import port_of
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import GroupRates, HostRates, PeerRates

OLD = 2.0
"""A question of a request is no older than the request. Where the mean age is this many times the mean response time,
something else asks: a queue worker that waits for jobs, or the connections of a pool."""

FEW = 5.0
"""Fewer requests than this many times those in flight end in an interval: then their number is no throughput. The error
of X * W is the difference of the ages of the requests in flight at both ends, at most 1/FEW in a steady state; our
own."""


FULL_GENERATOR = 0.9
"""Part of a core from which a worker of the load generator counts as full: all responses then wait for it. Locust warns
above that, and a quota gives time in pieces, so that no second has exactly all of it."""

LEAST_OF_GENERATOR = 0.01  # of the mean response time: less is not worth a part; our own

LONGEST_PAUSE_MS = 5000.0  # time-outs for idle clients and silent upstreams are longer by default; our own

TIMER = "timer"
"""Kind and name of the share of a page that sleeps: it waits as it would for a service, but asks none."""


class Part(StrEnum):
    """The states of a request, from the client to the data."""

    CONNECT = "connect"
    ACCEPT_QUEUE = "accept-queue"
    PROXY_QUEUE = "proxy-queue"
    WORKER_QUEUE = "worker-queue"
    CPU = "cpu"
    CPU_WAIT = "cpu-wait"
    STOLEN = "stolen"
    MEMORY = "memory"
    DISK = "disk"
    LOCK = "lock"
    DEPENDENCY = "dependency"
    TRANSFER = "transfer"


TITLES: dict[str, Translatable] = {
    Part.CONNECT: "connect",
    Part.ACCEPT_QUEUE: "accept queue",
    Part.PROXY_QUEUE: "proxy queue",
    Part.WORKER_QUEUE: "worker queue",
    Part.CPU: "on CPU",
    Part.CPU_WAIT: "waiting for CPU",
    Part.STOLEN: "CPU stolen",
    Part.MEMORY: "memory stall",
    Part.DISK: "disk",
    Part.LOCK: "lock",
    Part.DEPENDENCY: "calls to",
    Part.TRANSFER: "after first byte",
}


ASLEEP: Translatable = "asleep on a timer"


def in_order(part: str, title: str, name: str) -> tuple[str, str]:
    """Return title and name of a part as they are read: ``apache on CPU``, ``accept queue :80``, ``disk sda``."""
    if part in (Part.CPU, Part.CPU_WAIT, Part.STOLEN):
        return name, title
    return title, f":{name}" if part == Part.ACCEPT_QUEUE and name else name


class Share(Struct, frozen=True):
    """One part of the mean time. ``host`` and ``name`` say where: of a server, a disk, a lock, or an address. ``ms`` is
    ``None`` where this cannot be measured; ``exchanges`` per request, ``kind`` and ``service_host``, the other watched
    machine that has its address, are those of a dependency."""

    part: Part
    host: str | None
    name: str | None
    ms: float | None
    kind: str | None = None
    exchanges: float | None = None
    service_host: str | None = None


def read_apart(part: str, name: str | None) -> str | None:
    """The name of a share that is known even where its part is not measured: threads that sleep, the generator."""
    of_generator = part in (Part.CPU, Part.CPU_WAIT) and name == LOADTOP
    return name if of_generator or (part == Part.DEPENDENCY and name == TIMER) else None


class Breakdown(Struct, frozen=True):
    """The mean time of the requests that ended in an interval. ``shares`` is ``None`` where no machine under test had
    figures. ``weight``: how many such requests would have taken the time of all that were in progress; ``None``: as
    many as ended."""

    requests: int
    mean_ms: float
    shares: tuple[Share, ...] | None
    weight: float | None = None

    @property
    def unexplained_ms(self) -> float | None:
        """What is left of the mean; negative where the parts are more."""
        if self.shares is None:
            return None
        return self.mean_ms - sum(share.ms for share in self.shares if share.ms is not None)


def breakdown(measured: Measured) -> Breakdown | None:
    """``None`` if no request ended, or if the load reports no response times."""
    load, rates = measured.load, measured.load_rates
    if load is None or rates is None or not rates.rps or load.latencies is None or not load.latencies.total.count:
        return None
    total = load.latencies.total
    mean_ms, ms, weight = mean(total) / 1000, 1000.0 / rates.rps, None
    if rates.in_flight and total.count < FEW * rates.in_flight and mean_ms:
        ms = mean_ms / rates.in_flight
        weight = 1000.0 * rates.seconds / ms
    hosts = [host for host in measured.hosts if host.state.is_target and host.rates is not None]
    shares = [*_of_load(load)]
    for host in hosts:
        shares += _of_host(measured, load, host, ms, mean_ms)
    shares = [*_counted_once(hosts, shares), *_of_generator(measured, mean_ms)]
    if load.server is not None and load.server.tls:
        shares = _handshakes(shares, str(load.server.port))
    measurable = {share.part for share in shares if not read_apart(share.part, share.name)}
    shares += [Share(part, None, None, None) for part in Part if part not in measurable]
    told = tuple(share for share in _bounded(shares, ms, mean_ms) if share.ms is None or share.ms > 0)
    return Breakdown(total.count, mean_ms, told if hosts else None, weight)


def _bounded(shares: list[Share], ms: float, mean_ms: float) -> list[Share]:
    """The shares, none longer than a request takes. What is counted twice is taken off: the estimate of the generator's
    own queue, a thread that sleeps without a request, a server that still computes while it sends, the status page that
    loadtop itself asks for, which waits in the queue where no worker is free, and waits for the CPU of workers whose
    response the client has already, or whose request is still in the accept queue."""
    found = [share if share.ms is None else replace(share, ms=min(max(0.0, share.ms), mean_ms)) for share in shares]
    extra = max(0.0, sum(share.ms or 0.0 for share in found) - mean_ms)
    for name in (LOADTOP, TIMER):
        apart = [at for at, share in enumerate(found) if read_apart(share.part, share.name) == name and share.ms]
        of_apart = sum(found[at].ms or 0.0 for at in apart)
        twice = min(extra, of_apart)
        for at in apart:
            found[at] = replace(found[at], ms=(found[at].ms or 0.0) * (1.0 - twice / of_apart))
        extra -= twice
    for parts, most_ms in (
        ((Part.TRANSFER,), mean_ms),
        ((Part.ACCEPT_QUEUE, Part.WORKER_QUEUE), ms),
        ((Part.CPU_WAIT,), mean_ms),
    ):
        longest = max(
            (share for share in found if share.part in parts), key=lambda share: share.ms or 0.0, default=None
        )
        if longest is not None and longest.ms:
            twice = min(extra, most_ms, longest.ms)
            found[found.index(longest)] = replace(longest, ms=longest.ms - twice)
            extra -= twice
    return found


def _counted_once(hosts: list[HostView], shares: list[Share]) -> list[Share]:
    """The shares, with those of containers taken off those of the machine that they run on: it sees their processes
    too."""
    machines = {host.name: host.boot_id for host in hosts if host.boot_id and not host.is_container}
    containers = {host.name: host.boot_id for host in hosts if host.is_container}
    inside: dict[tuple[str, Part, str | None], float] = defaultdict(float)
    for share in shares:
        if share.host in containers:
            inside[containers[share.host], share.part, share.name] += share.ms or 0.0
    return [
        replace(share, ms=max(0.0, share.ms - inside[machines[share.host], share.part, share.name]))
        if share.host in machines and share.ms is not None
        else share
        for share in shares
    ]


def _handshakes(shares: list[Share], port: str) -> list[Share]:
    """The shares, with the accept queue taken off the time to connect: with TLS a connection waits in the queue for its
    handshake, which is part of connecting."""
    queued = sum(share.ms or 0.0 for share in shares if share.part is Part.ACCEPT_QUEUE and share.name == port)
    return [
        replace(share, ms=max(0.0, share.ms - queued)) if share.part is Part.CONNECT and share.ms is not None else share
        for share in shares
    ]


def _of_load(load: LoadSample) -> Iterator[Share]:
    """Seen from outside: connecting, and receiving the body after its first byte."""
    times = load.latencies
    if times is None:
        return
    if times.connect is not None:
        yield Share(Part.CONNECT, None, None, _per_request(times.connect, times.total))
    if times.processing is not None and times.waiting is not None:
        processing, waiting = (_per_request(each, times.total) for each in (times.processing, times.waiting))
        yield Share(Part.TRANSFER, None, None, max(0.0, processing - waiting))


def _of_generator(measured: Measured, mean_ms: float) -> Iterator[Share]:
    """Responses that wait until our own generator reads them, while its workers compute or wait for a CPU: as in the
    queue M/M/1 (R = S / (1 - U), Kleinrock, Queueing Systems, volume 1, 3.2), without the time S in which a worker
    handles one, and behind no more responses than there can be; where it is full, behind all of them. It is an
    estimate, and gets only what other parts leave. The threads of other engines wait for one response each."""
    rates = measured.load_rates
    generator = None if rates is None else rates.generator
    if rates is None or generator is None or generator.loop_delay_ms is None or not rates.rps:
        return
    waits = generator.waits or 0.0
    handling_ms = 10.0 * (generator.cpu + waits) / rates.rps
    workers = max(1, generator.workers)
    used = (generator.cpu + waits) / 100.0 / workers
    others = max(0.0, (rates.in_flight or 0.0) / workers - 1.0)
    queue = others if used >= FULL_GENERATOR else min(others, used / (1.0 - used))
    ms = min(mean_ms, handling_ms * queue)
    if ms < LEAST_OF_GENERATOR * mean_ms or not ms:
        return
    hosts = [host.name for host in measured.hosts if host.state.is_generator]
    name = hosts[0] if len(hosts) == 1 else None
    waiting = waits / (generator.cpu + waits)
    yield Share(Part.CPU, name, LOADTOP, ms * (1.0 - waiting))
    yield Share(Part.CPU_WAIT, name, LOADTOP, ms * waiting)


def _per_request(part: Distribution, total: Distribution) -> float:
    return part.sum_us / total.count / 1000


def _of_host(measured: Measured, load: LoadSample, host: HostView, ms: float, mean_ms: float) -> Iterator[Share]:
    """The states that a machine knows. ``ms`` is the time that one request in a state on average stands for,
    ``mean_ms`` what a request takes."""
    rates = host.rates
    if rates is None:
        return
    yield from _queues(measured, load, host, ms)
    names = {kind.group: kind.name for kind in measured.kinds} | {SERVICE: SERVICE}
    groups = rates.of_role(*SERVING)  # what a database does is a part of the dependency
    for group in groups:
        name = names.get(group.group, group.group)
        if group.cpu is not None:
            yield Share(Part.CPU, host.name, name, ms * group.cpu / 100)
            yield Share(Part.STOLEN, host.name, name, ms * group.cpu / 100 * _stolen(rates))
        if group.wait is not None:
            yield Share(Part.CPU_WAIT, host.name, name, ms * group.wait / 100)
    yield from _blocked(host, rates, groups, ms)
    locks = None if host.sample is None else host.sample.locks
    if locks is not None:
        yield Share(Part.LOCK, host.name, None, 0.0)
        waiting = Counter[str]()  # a file can have several locks, each on a part of it
        for lock in locks:
            waiting[lock.path or f"{lock.kind} {lock.device}:{lock.inode}"] += lock.waiting
        for name, processes in waiting.items():
            yield Share(Part.LOCK, host.name, name, ms * processes)
    if host.sample is not None and host.sample.sleeping is not None:
        paused = pauses(host.sample.timeouts_ms, mean_ms)
        yield Share(Part.DEPENDENCY, host.name, TIMER, ms * host.sample.sleeping + mean_ms * paused, TIMER)
    peers = rates.peers_before if rates.peers is None else rates.peers
    if peers is not None:
        yield Share(Part.DEPENDENCY, host.name, None, 0.0)
        recent = tuple(peer for peer in peers if (peer.age_ms or 0.0) <= OLD * mean_ms)
        for peer, questions in _alone(recent, rates.group(SERVICE)):
            exchanges = None if peer.exchanges is None else peer.exchanges * ms / 1000
            yield Share(Part.DEPENDENCY, host.name, peer.address, ms * questions, peer.kind, exchanges, peer.host)


def pauses(timeouts_ms: tuple[int, ...], mean_ms: float) -> float:
    """The share of moments in which an event loop waited for a timer that was due within the time of a request. How
    many requests wait for it cannot be told, so that all the time that nothing else explains is counted."""
    most_ms = min(LONGEST_PAUSE_MS, OLD * mean_ms)
    return sum(0 < each <= most_ms for each in timeouts_ms) / max(1, len(timeouts_ms))


def _queues(measured: Measured, load: LoadSample, host: HostView, ms: float) -> Iterator[Share]:
    """Connections in accept queues, and requests that wait in a server for a worker."""
    tcp, port = None if host.sample is None else host.sample.tcp, None if load.server is None else load.server.port
    if tcp is not None and port is not None:
        readings = (each for kind in measured.kinds if kind.role is Role.WEB for each in _readings(host, kind))
        web = {port_of(getattr(each, "url", "")) for each in readings}
        queues = {listener.port: float(listener.queue) for listener in tcp.listeners}
        queues |= {} if host.rates is None else host.rates.queued
        for at in {port, *(web & queues.keys())}:
            yield Share(Part.ACCEPT_QUEUE, host.name, str(at), ms * queues.get(at, 0.0))
    for kind in measured.kinds:
        part = Part.PROXY_QUEUE if kind.role is Role.PROXY else Part.WORKER_QUEUE
        found = _readings(host, kind)
        behind = (each for each in found if not getattr(each, "address", "").endswith(f":{port}"))
        queued = [each.queued for each in behind if each.queued is not None]
        if queued:
            yield Share(part, host.name, kind.name, ms * sum(queued))


def _readings(host: HostView, kind: ServerKind) -> list[ServerReading]:
    return [] if host.rates is None else [each.reading for each in host.rates.servers.get(kind.name, ())]


def _stolen(rates: HostRates) -> float:
    """How long the hypervisor stops a task for each moment in which it computes."""
    cpu = rates.cpu
    return (cpu.steal or 0.0) / cpu.busy if cpu is not None and cpu.busy > 0 else 0.0


def _blocked(host: HostView, rates: HostRates, groups: tuple[GroupRates, ...], ms: float) -> Iterator[Share]:
    """Tasks in uninterruptible sleep wait for a disk: for memory, where the machine stalls for that."""
    if not groups or rates.processes is None:
        return
    blocked = float(sum(group.blocked for group in groups))
    if host.sample is not None and host.sample.blocked_threads:  # at several moments; the kernel has ever new functions
        blocked = host.sample.blocked_threads + sum(group.blocked for group in groups if group.group == SERVICE)
    stalls = rates.pressure
    memory = (stalls.memory_some or 0.0) if stalls is not None else 0.0
    disk = (stalls.io_some or 0.0) if stalls is not None else 0.0
    of_memory = min(1.0, memory / max(memory, disk)) if memory else 0.0
    busiest = max(
        (each for each in rates.disks or () if not each.swap), key=lambda each: each.util or 0.0, default=None
    )
    yield Share(Part.MEMORY, host.name, None, ms * blocked * of_memory)
    yield Share(Part.DISK, host.name, None if busiest is None else busiest.name, ms * blocked * (1.0 - of_memory))


def _alone(peers: tuple[PeerRates, ...], service: GroupRates | None) -> Iterator[tuple[PeerRates, float]]:
    """Open questions at each peer, without those that wait further on: a peer whose processes are under test asks
    others itself, and its own CPU time is counted as such."""
    by_depth = defaultdict[int, float](float)
    for peer in peers:
        by_depth[peer.depth] += peer.questions
    computing = 0.0 if service is None else ((service.cpu or 0.0) + (service.wait or 0.0)) / 100
    watched = defaultdict[int, float](float)  # questions at peers whose processes are under test
    for peer in peers:
        watched[peer.depth] += peer.questions if peer.watched else 0.0
    of_all = sum(watched.values())
    for peer in peers:
        questions = peer.questions
        if peer.watched and questions:
            questions -= by_depth[peer.depth + 1] * questions / watched[peer.depth]
            questions -= computing * peer.questions / of_all
        yield peer, max(0.0, questions)
