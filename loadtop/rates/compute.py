"""From two samples to rates: the only place where a counter becomes a rate. Pure functions.

The first sample of anything has no rate, nor has a counter that went backwards (reboot, restart, torn read): both are
``None``, which is not 0. Shares of CPU time are percent of all the time that passed on the cores concerned.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from loadtop import model
from loadtop.model import LOADTOP, OTHER, SERVICE, USER_HZ, LoadState, Role, ServerKind, ServerReading
from loadtop.model.server import Measure, columns
from loadtop.rates import records

A = TypeVar("A")
B = TypeVar("B")
Record = TypeVar("Record", bound=Struct)
Device = TypeVar("Device", model.Disk, model.Network)


def host_rates(
    before: model.HostSample, now: model.HostSample, kinds: Iterable[ServerKind], peers_since: float | None = None
) -> records.HostRates | None:
    """The rates of one machine between two of its samples; ``None`` where no time passed or it was rebooted.
    ``peers_since`` is the machine's uptime at the last sample whose reading of connections was new."""
    seconds = now.at - before.at
    if seconds <= 0:
        return None
    cpu, cores = (None, ()) if before.cpu is None or now.cpu is None else _cpu(before.cpu, now.cpu)
    processes = None if now.processes is None else _processes(before.processes, now.processes, seconds)
    groups = None if processes is None else _groups(processes, kinds)
    passed = seconds if peers_since is None else max(seconds, now.at - peers_since)
    peers = _both(_peers, before.peers, now.peers, passed)
    return records.HostRates(
        seconds=seconds,
        cpu=cpu,
        cores=cores,
        paging=_both(_paging, before.paging, now.paging, seconds),
        pressure=_both(pressure_shares, before.pressure, now.pressure, seconds),
        disks=_by_name(_disk, before.disks, now.disks, seconds),
        networks=_by_name(_network, before.networks, now.networks, seconds),
        tcp=_both(_tcp, before.tcp, now.tcp, seconds),
        processes=processes,
        groups=groups,
        servers={
            name: server_rates(before.servers.get(name, ()), readings, seconds)
            for name, readings in now.servers.items()
        },
        cgroup=_both(_cgroup, before.cgroup, now.cgroup, seconds),
        peers=None if peers is None else _waiting(peers, groups or (), now.locks or ()),
        more_cgroups=_more_cgroups(before.more_cgroups, now.more_cgroups, seconds),
        queued={} if before.peers is None or now.peers is None else _queued(before.peers, now.peers),
    )


def per_second(before: float | None, now: float | None, seconds: float) -> float | None:
    """The rate of one counter; ``None`` where it was not read twice or fell."""
    if before is None or now is None or now < before:
        return None
    return (now - before) / seconds


def server_rates(
    before: Iterable[ServerReading], now: Iterable[ServerReading], seconds: float
) -> tuple[records.ServerRates[ServerReading], ...]:
    """The rates of all servers of one kind on one host. ``seconds`` is the time between the host's samples, which
    counts for readings that are not dated themselves."""
    earlier = {reading.key: reading for reading in before}
    return tuple(_server(earlier.get(reading.key), reading, seconds) for reading in now)


def _server(before: ServerReading | None, now: ServerReading, seconds: float) -> records.ServerRates[ServerReading]:
    counters = [column.field for column in columns(type(now), Measure.COUNTER)]
    if before is None or (before.age_s or 0) > (now.age_s or 0):
        return records.ServerRates(now, dict.fromkeys(counters))
    first, last = before.read_at, now.read_at
    if first is not None and last is not None and last > first:
        seconds = last - first
    return records.ServerRates(
        now, {name: per_second(getattr(before, name), getattr(now, name), seconds) for name in counters}
    )


def _cpu(before: model.Cpu, now: model.Cpu) -> tuple[records.CpuShares | None, tuple[records.CoreShares, ...]]:
    earlier = {core.id: core.times for core in before.cores}
    found = ((core.id, cpu_shares(earlier[core.id], core.times)) for core in now.cores if core.id in earlier)
    return cpu_shares(before.total, now.total), tuple(
        records.CoreShares(core, each) for core, each in found if each is not None
    )


def cpu_shares(before: model.CpuTimes, now: model.CpuTimes) -> records.CpuShares | None:
    """Percent of the time in each state; ``None`` where no tick passed. A state that went backwards, as iowait can
    (Linux, Documentation/filesystems/proc.rst), counts as 0."""
    pairs = zip(_STATES(before), _STATES(now), strict=True)
    ticks = [None if old is None or new is None else max(0, new - old) for old, new in pairs]
    whole = sum(value for value in ticks if value is not None)
    if whole == 0:
        return None
    user, nice, system, idle, *others = [None if value is None else 100.0 * value / whole for value in ticks]
    return records.CpuShares(user or 0.0, nice or 0.0, system or 0.0, idle or 0.0, *others)


_STATES: Callable[[model.CpuTimes], tuple[int | None, ...]] = attrgetter(*records.CpuShares.__struct_fields__)


def pressure_shares(before: model.Pressure, now: model.Pressure, seconds: float) -> records.PressureShares:
    """Percent of the interval stalled, from the difference of ``total`` (the kernel's averages lag by 10 s)."""

    def share(name: str) -> float | None:
        value = per_second(getattr(before, name), getattr(now, name), seconds)
        return None if value is None else min(100.0, value / 10_000.0)

    return records.PressureShares(*(share(f"{name}_us") for name in records.PressureShares.__struct_fields__))


def load_rates(before: model.LoadSample, now: model.LoadSample) -> records.LoadRates | None:
    """The load's rates; ``None`` where no time passed or the counters were reset (the end of the warm-up)."""
    seconds = now.at - before.at
    warmed_up = before.state is LoadState.WARMUP and now.state is not LoadState.WARMUP
    fell = before.requests is not None and now.requests is not None and now.requests < before.requests
    if seconds <= 0 or warmed_up or fell:
        return None
    counted = (now.counted_at or now.at) - (before.counted_at or before.at)

    def passed(name: str) -> int | None:
        """How far a counter of the load has moved; 0 where it went backwards."""
        old, new = getattr(before, name), getattr(now, name)
        return None if old is None or new is None or counted <= 0 else max(0, new - old)

    def rate(number: int | None, unit: float = 1.0) -> float | None:
        return None if number is None else number / unit / counted

    requests, failed, non_2xx = passed("requests"), passed("failed"), passed("non_2xx")
    failed_share = None
    if failed is not None and requests is not None:  # some may fail although none ends
        failed_share = 100.0 * min(failed, requests) / requests if requests else (100.0 if failed else None)
    return records.LoadRates(
        seconds=seconds,
        rps=rate(requests),
        failed=rate(failed),
        failed_share=failed_share,
        non_2xx_share=100.0 * non_2xx / requests if requests and non_2xx is not None else None,
        received_kb=rate(passed("received_bytes"), 1024.0),
        sent_kb=rate(passed("sent_bytes"), 1024.0),
        generator=_both(_generator, before.generator, now.generator, seconds),
        broken=_broken(before, now, requests),
        in_flight=_both(lambda first, last, _: (first + last) / 2, before.in_flight, now.in_flight, seconds),
    )


def _broken(before: model.LoadSample, now: model.LoadSample, requests: int | None) -> dict[str, float]:
    old, new = before.failures, now.failures
    if requests is None or old is None or new is None:
        return {}
    counts = {
        name: (getattr(new, name) or 0) - (getattr(old, name) or 0)
        for name in model.Failures.__struct_fields__
        if name != "length"
    }
    counts["status"] = (now.server_errors or 0) - (before.server_errors or 0)
    whole = max(requests, sum(counts.values()))
    return {name: 100.0 * count / whole for name, count in counts.items() if count > 0}


def _both(rates: Callable[[A, A, float], B | None], before: A | None, now: A | None, seconds: float) -> B | None:
    return None if before is None or now is None else rates(before, now, seconds)


def _by_name(
    rates: Callable[[Device, Device, float], B | None],
    before: tuple[Device, ...] | None,
    now: tuple[Device, ...] | None,
    seconds: float,
) -> tuple[B, ...] | None:
    """Rates of the devices in both samples; ``None`` where one sample has none of the kind."""
    if before is None or now is None:
        return None
    earlier = {device.name: device for device in before}
    found = (rates(earlier[device.name], device, seconds) for device in now if device.name in earlier)
    return tuple(each for each in found if each is not None)


def _counted(record: type[Record], before: object, now: object, seconds: float, **others: Any) -> Record:
    """A record whose fields are named like counters, which become rates, and others as they are given."""
    names = [name for name in record.__struct_fields__ if name not in others]
    rates = {name: per_second(getattr(before, name), getattr(now, name), seconds) for name in names}
    return record(**rates, **others)


def _paging(before: model.Paging, now: model.Paging, seconds: float) -> records.PagingRates:
    refaults = per_second(_refaults(before), _refaults(now), seconds)
    return _counted(records.PagingRates, before, now, seconds, refaults_pages=refaults)


def _refaults(sample: model.Paging) -> int | None:
    """Pages of processes and of files together; kernels before 5.9 count those of files only."""
    known = [pages for pages in (sample.refaults_anon_pages, sample.refaults_file_pages) if pages is not None]
    return sum(known) if known else None


def _disk(before: model.Disk, now: model.Disk, seconds: float) -> records.DiskRates | None:
    if now.reads < before.reads or now.writes < before.writes:
        return None
    requests = now.reads - before.reads + now.writes - before.writes
    waited = now.read_ms - before.read_ms + now.write_ms - before.write_ms
    busy = per_second(before.busy_ms, now.busy_ms, seconds)
    queue = per_second(before.queue_ms, now.queue_ms, seconds)
    return records.DiskRates(
        name=now.name,
        util=None if busy is None else min(100.0, busy / 10.0),
        await_ms=waited / requests if requests and waited >= 0 else None,
        queue=None if queue is None else queue / 1000.0,
        read_kb=(now.read_kb - before.read_kb) / seconds,
        write_kb=(now.write_kb - before.write_kb) / seconds,
        requests=requests / seconds,
        swap=now.swap,
    )


def _network(before: model.Network, now: model.Network, seconds: float) -> records.NetworkRates | None:
    rx = per_second(before.rx_bytes, now.rx_bytes, seconds)
    tx = per_second(before.tx_bytes, now.tx_bytes, seconds)
    if rx is None or tx is None:
        return None
    used = ((rx, now.receives_mbit), (tx, now.sends_mbit))
    first, last = (net.rx_errors + net.tx_errors + net.rx_drops + net.tx_drops for net in (before, now))
    return records.NetworkRates(
        name=now.name,
        rx_kb=rx / 1024.0,
        tx_kb=tx / 1024.0,
        rx_packets=max(0, now.rx_packets - before.rx_packets) / seconds,
        tx_packets=max(0, now.tx_packets - before.tx_packets) / seconds,
        errors=per_second(first, last, seconds) or 0.0,
        link_mbit=now.link_mbit,
        util=max((100.0 * rate * 8 / (mbit * 1e6) for rate, mbit in used if mbit), default=None),
        shaped_mbit=None if now.shaped_mbit is None else now.sends_mbit,
        queue_drops=per_second(before.queue_drops, now.queue_drops, seconds),
        queue_overlimits=per_second(before.queue_overlimits, now.queue_overlimits, seconds),
        queue_backlog=now.queue_backlog,
        policed_mbit=None if now.policed_mbit is None else now.receives_mbit,
        policed_drops=per_second(before.policed_drops, now.policed_drops, seconds),
    )


def _tcp(before: model.Tcp, now: model.Tcp, seconds: float) -> records.TcpRates:
    gauges = {name: getattr(now, name) for name in ("time_wait", "in_use", "established")}
    return _counted(records.TcpRates, before, now, seconds, **gauges)


def _cgroup(before: model.CgroupLimits, now: model.CgroupLimits, seconds: float) -> records.CgroupRates | None:
    """``None`` if the server has moved to another group, because the counters are those of another group."""
    if before.path != now.path:
        return None
    periods = per_second(before.periods, now.periods, seconds)
    throttled = per_second(before.throttled_periods, now.throttled_periods, seconds)
    lost = per_second(before.throttled_us, now.throttled_us, seconds)
    return records.CgroupRates(
        throttled=100.0 * throttled / periods if periods and throttled is not None else None,
        throttled_ms=None if lost is None else lost / 1000.0,
        memory_failures=per_second(before.memory_failures, now.memory_failures, seconds),
        pressure=_both(pressure_shares, before.pressure, now.pressure, seconds),
        path=now.path,
        io=_io_limits(before.io, now.io, seconds),
    )


def _io_limits(
    before: Iterable[model.IoLimit], now: Iterable[model.IoLimit], seconds: float
) -> tuple[records.IoLimitRates, ...]:
    earlier = {(each.device, each.group, each.limited): each.done for each in before}
    found = (
        (each, per_second(earlier.get((each.device, each.group, each.limited)), each.done, seconds)) for each in now
    )
    return tuple(
        records.IoLimitRates(each.device, each.limited, each.most, used) for each, used in found if used is not None
    )


def _more_cgroups(
    before: Iterable[model.CgroupLimits], now: Iterable[model.CgroupLimits], seconds: float
) -> tuple[records.CgroupRates, ...]:
    earlier = {each.path: each for each in before}
    found = (_cgroup(earlier[each.path], each, seconds) for each in now if each.path in earlier)
    return tuple(each for each in found if each is not None)


MISSED = 1.5
"""A question is on average at least half as old as its exchange takes in all (inspection paradox; half: all take the
same time). Exchanges that take this many times longer than that allows were undercounted; our own."""


def _peers(before: model.Peers, now: model.Peers, seconds: float) -> tuple[records.PeerRates, ...] | None:
    """Nothing without a new reading. A peer that was not known before has counters from 0."""
    readings = now.readings - before.readings
    if readings <= 0:
        return None
    earlier = {peer.address: peer for peer in before.peers}
    found = (_peer(earlier.get(peer.address), peer, readings, seconds) for peer in now.peers)
    return tuple(each for each in found if each is not None)


def _queued(before: model.Peers, now: model.Peers) -> dict[int, float]:
    readings = now.queue_readings - before.queue_readings
    earlier = {each.port: each.connections for each in before.queued}
    waited = ((each.port, each.connections - earlier.get(each.port, 0)) for each in now.queued)
    return {port: passed / readings for port, passed in waited if readings > 0 and passed >= 0}


def _peer(before: model.Peer | None, now: model.Peer, readings: int, seconds: float) -> records.PeerRates | None:
    names = ("connections", "questions", "age_ms", "segments")
    passed = [getattr(now, name) - (0 if before is None else getattr(before, name)) for name in names]
    if min(passed) < 0:
        return None
    connections, questions, age, segments = passed
    age_ms, exchanges = age / questions if questions else None, segments / seconds
    missed = age_ms is not None and 1000.0 * questions / readings > MISSED * 2.0 * max(age_ms, 1.0) * exchanges
    return records.PeerRates(
        address=now.address,
        kind=now.kind,
        depth=now.depth,
        readings=readings,
        connections=connections / readings,
        questions=questions / readings,
        age_ms=age_ms,
        exchanges=None if missed else exchanges,
        watched=now.watched,
        by_connection=now.by_connection,
    )


def _waiting(
    peers: tuple[records.PeerRates, ...], groups: Iterable[records.GroupRates], locks: Iterable[model.FileLock]
) -> tuple[records.PeerRates, ...]:
    """The peers, with the connections to unix sockets on which someone waits. While a process computes, waits for a
    lock or asks another service, it does not wait on its connection. Several connections share what is left."""
    connected = sum(peer.questions for peer in peers if peer.by_connection)
    if not connected:
        return peers
    askers = [group for group in groups if group.role is Role.APPLICATION]
    askers = askers or [group for group in groups if group.role is Role.WEB]
    elsewhere = sum(((group.cpu or 0.0) + (group.wait or 0.0)) / 100 + group.blocked for group in askers)
    elsewhere += sum(lock.waiting for lock in locks)
    elsewhere += sum(peer.questions for peer in peers if not peer.by_connection)
    at_once = max(peer.questions for peer in peers if peer.by_connection)
    part = max(0.0, at_once - elsewhere) / connected
    return tuple(replace(peer, questions=peer.questions * part) if peer.by_connection else peer for peer in peers)


def _processes(
    before: tuple[model.Process, ...] | None, now: tuple[model.Process, ...], seconds: float
) -> tuple[records.ProcessRates, ...]:
    earlier = {(process.pid, process.started_ticks): process for process in before or ()}

    def rates(process: model.Process) -> records.ProcessRates:
        old = earlier.get((process.pid, process.started_ticks))
        if old is None:
            return records.ProcessRates(process, None)
        ticks = per_second(old.cpu_ticks, process.cpu_ticks, seconds)
        waited_ns = per_second(old.wait_ns, process.wait_ns, seconds)
        run_us = per_second(old.run_us, process.run_us, seconds)
        cpu = None if ticks is None else 100.0 * ticks / USER_HZ if run_us is None else run_us / 1e4
        # A wait counts when it ends: one that began before this interval is cut to what fits into it.
        most = max(0.0, 100.0 * process.threads - (cpu or 0.0))
        wait = None if waited_ns is None else min(waited_ns / 1e7, most)
        children = 100.0 * (per_second(old.child_ticks, process.child_ticks, seconds) or 0.0) / USER_HZ
        return records.ProcessRates(process, cpu, wait, children)

    return tuple(map(rates, now))


def _groups(processes: tuple[records.ProcessRates, ...], kinds: Iterable[ServerKind]) -> tuple[records.GroupRates, ...]:
    members: dict[str, list[records.ProcessRates]] = {}
    for process in processes:
        members.setdefault(process.process.group, []).append(process)
    roles = {kind.group: kind.role for kind in kinds} | {SERVICE: Role.APPLICATION}
    order = (*roles, LOADTOP, OTHER)
    return tuple(_group(group, roles.get(group), members[group]) for group in order if group in members)


def _group(group: str, role: Role | None, members: list[records.ProcessRates]) -> records.GroupRates:
    processes = [member.process for member in members]
    states = [process.state for process in processes]
    shares = [member.cpu + member.children for member in members if member.cpu is not None]
    waits = [member.wait for member in members if member.wait is not None]
    all_read = all(member.cpu is None or member.process.wait_ns is not None for member in members)
    proportional = [process.pss_kb for process in processes if process.pss_kb is not None]
    return records.GroupRates(
        group=group,
        role=role,
        processes=len(members),
        running=states.count("R"),
        blocked=states.count("D"),
        threads=sum([process.threads for process in processes]),
        cpu=sum(shares) if shares else None,
        rss_kb=sum([process.rss_kb for process in processes]),
        pss_kb=sum(proportional) if len(proportional) == len(members) else None,
        wait=sum(waits) if waits and all_read else None,
    )


def _passed(before: int, now: int, seconds: float) -> float:
    return max(0, now - before) / seconds


def _generator(before: model.GeneratorSample, now: model.GeneratorSample, seconds: float) -> records.GeneratorRates:
    shares = _worker_shares(before.worker_cpu_s, now.worker_cpu_s, seconds)
    waits = _worker_shares(before.worker_wait_s, now.worker_wait_s, seconds)
    pairs = zip(shares, waits, strict=True) if len(waits) == len(shares) else ()
    most = max(pairs, key=sum, default=None)
    periods = per_second(before.quota_periods, now.quota_periods, seconds)
    stops = per_second(before.quota_stops, now.quota_stops, seconds)
    return records.GeneratorRates(
        cpu=sum(shares),
        busiest=max(shares, default=0.0),
        workers=len(shares),
        loop_delay_ms=None if now.loop_delay_s is None else 1000.0 * now.loop_delay_s,
        late=_both(_passed, before.late, now.late, seconds),
        unsent=_both(_passed, before.unsent, now.unsent, seconds),
        throttled=100.0 * stops / periods if periods and stops is not None else None,
        wait=None if most is None else most[1],
        wanted=None if most is None else sum(most),
        waits=None if most is None else sum(waits),
    )


def _worker_shares(before: tuple[float, ...], now: tuple[float, ...], seconds: float) -> list[float]:
    """Percent of the interval by worker; one that is new began with 0."""
    earlier = before + (0.0,) * len(now)
    return [100.0 * max(0.0, new - old) / seconds for old, new in zip(earlier, now, strict=False)]
