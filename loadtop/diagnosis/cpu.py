"""The processors: all full, one full while others idle, given away by the hypervisor, or kept back by a quota."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf

from loadtop.diagnosis.finding import Evidence, Finding
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds, owner
from loadtop.i18n import Message, sentences
from loadtop.model import LOADTOP, OTHER, PROFILE_S, SERVING, CgroupLimits, CoreSpeed, Profile
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import CpuShares, HostRates, ProcessRates

BUSY_PCT, BUSY_CLEAR_PCT = 90.0, 80.0
"""Percent of what the hypervisor delivers, without iowait: PCP's cpu/util 90; cleared at 80."""

CORE_PCT, CORE_CLEAR_PCT = 95.0, 88.0
MEAN_PCT = 70.0  # one core over 95 % (PCP percpu/some_util) while all together stay below 70 %
PROCESS_PCT = 85.0  # percent of a core that one process must take for its core to be called its limit; our own

GETS_PCT = 50.0
"""Percent of a core that a process of one thread must get where it waits for a CPU in the rest of the time: it never
sleeps, so that the core is its limit, although others share that with it. It may get less where those others are not
its own siblings. Our own."""

TOGETHER_PCT, BESIDE_PCT = 110.0, 50.0
"""The web server's processes together use one core, and no other process uses half of one; our own."""

QUEUED_PCT = 100.0
"""Percent of a core. If the waits of the web server's processes for a CPU add up to this while other cores idle, they
cannot use those: Linux would move them there. Our own."""

SLOW_PCT = 50.0
"""Percent of its highest frequency at which a busy core is said to be slow: heat, a power limit or a setting holds it
back. Our own."""

LARGEST = 1024  # the capacity of a machine's largest cores: Linux, SCHED_CAPACITY_SCALE

STALL_PCT = 10.0  # percent of the time in which a task waited for a CPU: check_psi's critical value. A vote only

ENGAGED_PCT = 25.0
"""Percent of a server's requests, or of its threads if these are fewer, that run or wait for a CPU where a machine that
others fill is the limit; our own."""

SHARED_PCT = 10.0  # percent of the machine from which the load generator's own share is called out; our own

DATABASES = {"memcached", "mongod"}
"""Processes of no watched kind that may well work for the web server beside them: they do not count as others."""

STEAL_PCT, STEAL_CLEAR_PCT = 10.0, 5.0  # netdata and awesome-prometheus-alerts: 10; netdata clears at 5

SPARE_PCT = 20.0  # percent idle on a core, or of all, with which no request waits for what others take; our own

PERIODS_PCT, PERIODS_CLEAR_PCT = 25.0, 10.0
"""Percent of the periods in which it was throttled: awesome-prometheus-alerts warns above 25; cleared at 10."""

LOST_MS_S = 20.0  # ms per second that it stood still: our own, so that throttling of some microseconds is no limit

MORE_CPU = Message("Add CPUs or make the page cheaper. More workers will not help.")


def _assess_all(measured: Measured, host: HostView) -> Assessment | None:
    """Busy, and more runnable tasks than cores. Where only other processes fill it, the requests must be waiting
    for a CPU."""
    rates, sample = host.rates, host.sample
    if rates is None or rates.cpu is None or sample is None:
        return None
    cores, running = host.cores, host.runnable
    stall = None if rates.pressure is None else rates.pressure.cpu_some
    queued, stalled = exceeds(running, cores), exceeds(stall, STALL_PCT)
    wanted = queued is not False or stalled is not False
    busy = rates.cpu.used
    engaged = _engaged_beside_others(measured, host, rates, rates.cpu)
    ours = engaged is None or engaged > ENGAGED_PCT
    return Assessment(
        over=busy > BUSY_PCT and wanted and ours,
        held=busy > BUSY_CLEAR_PCT and ours,
        evidence=(
            Row("cpu.busy_pct", busy, BUSY_PCT, "%", "PCP cpu/util: over 90 %"),
            Row("servers.engaged_pct", engaged, ENGAGED_PCT, "%", "Little's law: time on CPU or waiting for it"),
            Row("running", running, cores, "tasks", "USE method: run queue > cores"),
            Row("pressure.cpu_some_pct", stall, STALL_PCT, "%", "check_psi: cpu some over 10 %"),
            Row("cpu.steal_pct", rates.cpu.steal or None, STEAL_PCT, "%", "netdata: steal over 10 %"),
            *(
                row
                for each in _other_processes(rates)[:1]
                for row in _other_row(each.process.name, (each.cpu or 0.0) / cores, SHARED_PCT)
            ),
            *(_slow_cores(sample.core_speeds) if busy > BUSY_CLEAR_PCT else ()),
        ),
        advice=lambda: sentences(MORE_CPU, *_others(rates, cores)),
        confidence=agreement(queued, stalled),
    )


def _other_row(name: str, share: float, least_pct: float) -> Iterator[Row]:
    """What a program that is no part of the server takes of some cores, where that is at least so much."""
    if share >= least_pct:
        metric = re.sub(r"[^\w.+-]", "_", name[:16], flags=re.ASCII)
        yield Row(f"other.{metric}.cpu_pct", share, least_pct, "%", "loadtop: not part of the server")


def _slow_cores(speeds: Collection[CoreSpeed]) -> Iterator[Row]:
    """The core furthest below its highest frequency, if that is half of it or less, and the smallest one, if others are
    larger. For busy cores: one that is idle may well be slow."""
    clocks = [(100.0 * each.khz / each.highest_khz, each.core) for each in speeds if each.khz and each.highest_khz]
    frequency, core = min(clocks, default=(100.0, 0))
    if frequency <= SLOW_PCT:
        yield Row(
            f"core{core}.frequency_pct", frequency, SLOW_PCT, "%", "cpufreq: of its highest frequency", below=True
        )
    capacity, core = min(((each.capacity, each.core) for each in speeds if each.capacity), default=(LARGEST, 0))
    if capacity < LARGEST:
        yield Row(f"core{core}.capacity_pct", 100.0 * capacity / LARGEST, 100.0, "%", "cpu_capacity: 1024", below=True)


def _engaged_beside_others(measured: Measured, host: HostView, rates: HostRates, cpu: CpuShares) -> float | None:
    """:func:`engaged_share` where the machine would not be full without other processes, otherwise ``None``."""
    others = sum(each.cpu or 0.0 for each in _other_processes(rates)) / host.cores
    return None if cpu.used - others > BUSY_CLEAR_PCT else engaged_share(measured, host)


def engaged_share(measured: Measured, host: HostView) -> float | None:
    """Percent of the requests at a machine's servers that run or wait for a CPU, of the kind of server with most of
    them; a kind can have no more there than it has threads. By Little's law, CPU time and wait per second are their
    mean number. ``None`` where that is not known. A wait that was not measured is that of any other task: what runs is
    to what is runnable as cores are to tasks."""
    load = measured.load
    if load is None or load.in_flight is None:
        return None
    tasks_per_core = max(1.0, (host.runnable or 0) / host.cores)
    shares: list[float] = []
    for group in host.groups(*SERVING):
        if group.cpu is not None:
            engaged = group.cpu * tasks_per_core if group.wait is None else group.cpu + group.wait
            shares.append(engaged / max(1, min(load.in_flight, group.threads)))
    return max(shares, default=None)


def _other_processes(rates: HostRates) -> list[ProcessRates]:
    """The busiest processes that do not work for the server, busiest first; none where no server is known. What has the
    name of a database may well work for it."""
    found = (each for each in rates.processes or () if each.process.group == OTHER and each.cpu)
    others = (each for each in found if each.process.name not in DATABASES)
    return sorted(others, key=lambda each: each.cpu or 0.0, reverse=True) if rates.of_role(*SERVING) else []


def _others(rates: HostRates, cores: int) -> Iterator[Message]:
    """Who else takes a part of the machine worth naming: the load generator, or processes of no server."""
    group = rates.group(LOADTOP)
    if group is not None and group.cpu is not None and group.cpu >= SHARED_PCT * cores:
        yield Message(
            "The load generator runs on the server's machine and takes {share:.0f} % of its "
            "CPU. Generate the load elsewhere for a realistic result.",
            share=group.cpu / cores,
        )
    others = _other_processes(rates)
    share = sum(each.cpu or 0.0 for each in others) / cores
    if share < SHARED_PCT:
        return
    first, *more = others
    beside = sum((each.cpu or 0.0) / cores >= SHARED_PCT / 2 for each in more)
    template = "{name} (pid {pid:d}), which is not part of the web server, takes {share:.0f} % of the CPU."
    if beside:
        template = (
            "{name} (pid {pid:d}) and {more} more, which are not part of the web server, take {share:.0f} % of the CPU."
        )
    yield Message(template, name=first.process.name, pid=first.process.pid, more=beside, share=share)


def _headroom(host: HostView) -> Iterable[Evidence]:
    if host.cpu is not None:
        yield Evidence("cpu.busy_pct", host.name, host.cpu.busy, BUSY_PCT, "%", "PCP cpu/util", below=True)


CPU = Verdict(
    name="cpu",
    letter="C",
    title="CPU",
    sentence="The CPU is the limit",
    headline="is the limit",
    family=Family.PROCESSOR,
    whole_machine=True,
    explains=(Family.POOL,),
    of_host=_assess_all,
    headroom=_headroom,
    titles={
        "cpu.busy_pct": "CPU busy",
        "running": "runnable tasks",
        "servers.engaged_pct": "requests running or waiting for CPU",
    },
)


def _assess_core(measured: Measured, host: HostView) -> Assessment | None:
    """One process fills its core, or what the hypervisor delivers of it, others idle, and requests wait meanwhile. A
    process of one thread that takes a whole core, or waits for one while others have it, is held by that, however busy
    these (as a load generator beside it) keep the rest, as long as some is left."""
    rates = host.rates
    if rates is None or rates.cpu is None or len(rates.cores) < 2:
        return None
    fullest = max(rates.cores, key=lambda core: core.shares.used)
    core, overall = fullest.shares.used, rates.cpu.used
    process = _busiest(rates)
    share = 0.0 if process is None or process.cpu is None else 100.0 * process.cpu / max(1.0, fullest.shares.delivered)
    wanted = share + (0.0 if process is None or process.wait is None else process.wait)
    threaded = process is not None and process.process.threads > 1
    speeds = () if host.sample is None else [each for each in host.sample.core_speeds if each.core == fullest.id]
    load = measured.load
    asked = None if load is None else load.concurrency if load.in_flight is None else load.in_flight
    several = load is not None and (asked is None or asked >= 2)  # believed where an engine tells neither
    # Beside a known web server, a core that something else fills is no limit of the server.
    queued = sum(group.wait or 0.0 for group in rates.of_role(*SERVING)) >= QUEUED_PCT
    bound = _bound_to_a_core(rates, fullest.shares.delivered / 100.0, queued=queued)
    others = process is not None and _siblings_take(rates, process) < (wanted - share) / 2
    single = wanted >= CORE_PCT and not threaded and (share >= GETS_PCT or others)
    filled = rates.processes is None or share >= PROCESS_PCT or single or bound > 0
    held_up = single and share < CORE_PCT
    rivals = _rivals(rates, share, wanted - share) if held_up and others else ()
    most = BUSY_PCT if single else 100.0 - SPARE_PCT if bound and queued else MEAN_PCT
    alone = overall < most and several and filled
    return Assessment(
        over=(single or core > CORE_PCT) and alone,
        held=(single or core > CORE_CLEAR_PCT) and alone,
        evidence=(
            Row(f"core{fullest.id}.busy_pct", core, CORE_PCT, "%", "PCP percpu/some_util"),
            Row("cpu.busy_pct", overall, most, "%", "loadtop, calibrated", below=True),
            Row("process.cpu_pct", None if process is None else share, PROCESS_PCT, "%", "loadtop, calibrated"),
            *([Row("process.wanted_pct", wanted, CORE_PCT, "%", "schedstat: runs or waits for a CPU")] * held_up),
            *_rival_rows(rivals, (wanted - share) / 2),
            *(_slow_cores(speeds) if core > CORE_CLEAR_PCT else ()),
        ),
        advice=lambda: _core_advice(
            process, share, bound if share < PROCESS_PCT and not (single and others) else 0, rivals
        ),
        confidence=agreement(None if process is None else (share >= PROCESS_PCT or single) and not threaded),
    )


def _siblings_take(rates: HostRates, process: ProcessRates) -> float:
    """Percent of a core that the other processes of the servers take; all where it is of no server."""
    groups = {group.group for group in rates.of_role()}
    if process.process.group not in groups:
        return inf
    return sum(
        each.cpu or 0.0 for each in rates.processes or () if each is not process and each.process.group in groups
    )


def _rivals(rates: HostRates, share: float, waits_pct: float) -> tuple[ProcessRates, ...]:
    """The busiest other programs, if they take at least half of what a process of the server waits for. Those that take
    less than half of the first are left out, and single threads that take more than it leaves of its core."""
    most = TOGETHER_PCT - share
    others = [each for each in _other_processes(rates) if each.process.threads > 1 or (each.cpu or 0.0) <= most]
    found = tuple(each for each in others if (each.cpu or 0.0) >= (others[0].cpu or 0.0) / 2)
    return found if sum(each.cpu or 0.0 for each in found) >= waits_pct / 2 else ()


def _rival_rows(rivals: Sequence[ProcessRates], least_pct: float) -> Iterator[Row]:
    """What these programs take of a core, those of one name together, where it is a good part of so much."""
    taken = defaultdict[str, float](float)
    for each in rivals:
        taken[each.process.name] += each.cpu or 0.0
    for name, share in taken.items():
        yield from _other_row(name, share, least_pct / len(taken))


def _core_advice(process: ProcessRates | None, share: float, bound: int, rivals: Sequence[ProcessRates]) -> Message:
    if process is not None and rivals:
        template = (
            "Stop {other} (pid {other_pid:d}), or keep it off this core (taskset, cpuset): {name} (pid {pid:d}) shares "
            "the core with it, and waits for it {waits:.0f} % of the time."
        )
        if len(rivals) > 1:
            template = (
                "Stop {other} (pid {other_pid:d}) and {more} more, or keep them off this core (taskset, cpuset): "
                "{name} (pid {pid:d}) shares the core with them, and waits for it {waits:.0f} % of the time."
            )
        return Message(
            template,
            other=rivals[0].process.name,
            other_pid=rivals[0].process.pid,
            more=len(rivals) - 1,
            name=process.process.name,
            pid=process.process.pid,
            waits=process.wait or 0.0,
        )
    if bound > 1:
        return Message(
            "Let the {bound} web server processes use more cores (cpuset, taskset, CPUAffinity): they share one "
            "while the others are idle.",
            bound=bound,
        )
    name, pid = ("", None) if process is None else (process.process.name, process.process.pid)
    template = "Spread the work over more processes: {name} (pid {pid:d}) fills one core while the others are idle."
    if process is None:
        template = "Spread the work over more processes: a single thread fills one core while the others are idle."
    elif share < PROCESS_PCT and process.wait:
        template = (
            "Give {name} (pid {pid:d}) a core of its own (taskset, cpuset): it gets {share:.0f} % of one, and waits "
            "for it {waits:.0f} % of the time."
        )
    return Message(template, name=name, pid=pid, share=share, waits=0.0 if process is None else process.wait)


def _bound_to_a_core(rates: HostRates, delivered: float, *, queued: bool) -> int:
    """How many processes of the web server seem to be bound to one core, of which a part is ``delivered``; 0 where
    someone else may fill it. Those that are ``queued`` for it may share it with others."""
    servers = rates.of_role(*SERVING)
    names = {group.group for group in servers}
    together = sum(group.cpu or 0.0 for group in servers)
    others = (each.cpu or 0.0 for each in rates.processes or () if each.process.group not in names)
    least = (GETS_PCT if queued else PROCESS_PCT) * delivered
    bound = least <= together <= TOGETHER_PCT and max(others, default=0.0) < BESIDE_PCT
    return sum(group.processes for group in servers) if bound else 0


def _busiest(rates: HostRates) -> ProcessRates | None:
    """The busiest process of the servers that take requests, or of any others where there are none."""
    serving = {group.group for group in rates.of_role(*SERVING)}
    groups = serving or {OTHER, *(group.group for group in rates.of_role())}
    known = (each for each in rates.processes or () if each.cpu is not None and each.process.group in groups)
    return max(known, key=lambda each: each.cpu or 0.0, default=None)


CPU_CORE = Verdict(
    name="cpu-core",
    letter="1",
    title="one core",
    sentence="One core is the limit",
    headline="is the limit while others are idle",
    family=Family.PROCESSOR,
    whole_machine=True,
    explains=(Family.POOL,),
    of_host=_assess_core,
    titles={"process.cpu_pct": "busiest process", "process.wanted_pct": "busiest process: CPU plus CPU wait"},
)


PROFILED = (CPU.name, CPU_CORE.name)
"""Verdicts of which a profile tells the reason."""


def functions(finding: Finding, profiles: Iterable[Profile]) -> Iterator[Evidence]:
    """The functions that run most often in the newest of these profiles of a CPU-bound host."""
    found = [each for each in profiles if each.host == finding.host] if finding.bottleneck in PROFILED else []
    for name, pct in found[-1].hottest() if found else ():
        yield Evidence(f"function {name}", found[-1].host, pct, 0.0, "%", f"{found[-1].tool}, {PROFILE_S} s")


def _assess_steal(measured: Measured, host: HostView) -> Assessment | None:
    """A share is stolen that requests wait for, and on no core is time left over to make up for it."""
    rates, cpu = host.rates, host.cpu
    if rates is None or cpu is None or cpu.steal is None:
        return None
    steal, wanted = cpu.steal, cpu.busy + cpu.steal
    engaged = _engaged_beside_others(measured, host, rates, cpu)
    missed = engaged is None or engaged > ENGAGED_PCT
    everywhere = all(100.0 - core.shares.busy - (core.shares.steal or 0.0) < SPARE_PCT for core in rates.cores)
    return Assessment(
        over=steal > STEAL_PCT and wanted > BUSY_PCT and everywhere and missed,
        held=steal > STEAL_CLEAR_PCT and wanted > BUSY_CLEAR_PCT and missed,
        evidence=(
            Row("cpu.steal_pct", steal, STEAL_PCT, "%", "netdata: steal over 10 %"),
            Row("cpu.wanted_pct", wanted, BUSY_PCT, "%", "PCP cpu/util, steal included"),
        ),
        advice=lambda: Message(
            "Move to another machine or use dedicated cores: the hypervisor takes {share:.0f} "
            "% of this virtual machine's CPU time, about {lost:.1f} of {cores} cores.",
            share=steal,
            lost=steal * host.cores / 100,
            cores=host.cores,
        ),
        confidence=agreement(exceeds(host.runnable, host.cores)),
    )


STEAL = Verdict(
    name="steal",
    letter="T",
    title="steal",
    sentence="The hypervisor is the limit",
    headline="the hypervisor takes CPU time",
    clause=True,
    family=Family.PROCESSOR,
    whole_machine=True,
    explains=("cpu", "cpu-core", Family.POOL),
    of_host=_assess_steal,
    titles={"cpu.steal_pct": "CPU stolen", "cpu.wanted_pct": "CPU used or stolen"},
)


def _assess_quota(_: Measured, host: HostView) -> Assessment | None:
    """The quota stops a server in many periods, for long enough to matter. Of several that it stops in many, the one
    that loses most counts."""
    found = [
        (known.throttled, known.throttled_ms, group)
        for group, known in host.control_groups()
        if known is not None and known.throttled is not None and group.cpu_quota_us is not None
    ]
    if not found:
        return None
    share, lost, group = max(found, key=lambda each: (each[0] > PERIODS_PCT, each[1] or 0.0, each[0]))
    has_effect = lost is None or lost > LOST_MS_S
    return Assessment(
        over=share > PERIODS_PCT and has_effect,
        held=share > PERIODS_CLEAR_PCT,
        evidence=(
            Row("cgroup.throttled_pct", share, PERIODS_PCT, "%", "awesome-prometheus-alerts: 25 %"),
            Row("cgroup.throttled_ms_s", lost, LOST_MS_S, "ms/s", "loadtop, calibrated"),
        ),
        advice=lambda: _quota_advice(group, share),
        confidence=agreement(exceeds(lost, LOST_MS_S), share > 2 * PERIODS_PCT),
    )


def _quota_advice(group: CgroupLimits, share: float) -> Message:
    template = "The control group of {server} is throttled in {share:.0f} % of its periods."
    if group.version == 2:  # in version 1 the path is that of another hierarchy
        template = "The control group {path} of {server} is throttled in {share:.0f} % of its periods."
    stopped = Message(template, server=owner(group), path=group.path, share=share)
    if group.cpu_quota_us is None or not group.cpu_period_us:
        return sentences(Message("Raise the CPU quota."), stopped)
    cores = group.cpu_quota_us / group.cpu_period_us
    setting = f"CPUQuota={cores * 200:.0f}%" if group.version == 2 else f"cpu.cfs_quota_us={2 * group.cpu_quota_us}"
    raised = Message(
        "Raise the CPU quota of {cores:.2g} cores (for example {setting}) or remove it.", cores=cores, setting=setting
    )
    return sentences(raised, stopped)


THROTTLED = Verdict(
    name="throttled",
    letter="R",
    title="throttled",
    sentence="The CPU quota is the limit",
    headline="a CPU quota is the limit",
    clause=True,
    family=Family.PROCESSOR,
    explains=("cpu", "cpu-core", Family.POOL),
    of_host=_assess_quota,
    titles={"cgroup.throttled_pct": "periods throttled", "cgroup.throttled_ms_s": "throttled time"},
)
