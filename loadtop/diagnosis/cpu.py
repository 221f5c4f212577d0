"""The processors: all of them full, or one of them while the others idle."""

from collections.abc import Iterable, Iterator

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import Evidence, evidence_of
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message, sentences
from loadtop.model import LOADTOP, OTHER, LoadSample
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HostRates, ProcessRates

BUSY_PCT = 90.0
BUSY_CLEAR_PCT = 80.0
"""Percent of the time computing, without iowait and steal: PCP's cpu/util 90; cleared at 80."""

CORE_PCT = 95.0
CORE_CLEAR_PCT = 88.0
MEAN_PCT = 70.0
"""One core over 95 % (PCP percpu/some_util) while all together stay below 70 %."""

PROCESS_PCT = 85.0
"""Percent of a core that one process must take for its core to be called its limit; our own."""

TOGETHER_PCT, BESIDE_PCT = 110.0, 50.0
"""All processes of the web server take one core between them, and nobody else takes half of one: they are bound to a
core; our own."""

STALL_PCT = 10.0
"""Percent of the time in which some task waited for a processor: check_psi's critical value. A vote only."""

SHARED_PCT = 10.0
"""Percent of the machine from which the load generator's own share is called out; our own."""


MORE_CPU = Message("Add CPU, or make the page cheaper; more workers will not help.")


def assess_all(_: Measured, host: HostView) -> Assessment | None:
    """``cpu`` for one machine: busy, and more tasks that want to run than there are cores."""
    rates, sample = host.rates, host.sample
    if rates is None or rates.cpu is None or sample is None:
        return None
    cores = len(rates.cores) or sample.facts.cores
    running = None if sample.scheduler is None else sample.scheduler.running
    stall = None if rates.pressure is None else rates.pressure.cpu_some
    queued, stalled = exceeds(running, cores), exceeds(stall, STALL_PCT)
    wanted = queued is not False or stalled is not False
    busy = rates.cpu.busy
    return Assessment(
        "cpu",
        host.name,
        over=busy > BUSY_PCT and wanted,
        held=busy > BUSY_CLEAR_PCT,
        evidence=evidence_of(
            host.name,
            ("cpu.busy_pct", busy, BUSY_PCT, "%", "PCP cpu/util: over 90 %"),
            ("running", running, cores, "tasks", "USE method: run queue > cores"),
            ("pressure.cpu_some_pct", stall, STALL_PCT, "%", "check_psi: cpu some over 10 %"),
        ),
        advice=lambda: sentences(MORE_CPU, *_others(host, cores)),
        confidence=agreement(queued, stalled),
    )


def assess_core(measured: Measured, host: HostView) -> Assessment | None:
    """``cpu-core`` for one machine: one process fills its core, others idle, and requests wait meanwhile.

    A process of one thread that takes a whole core is held by that, on whichever cores it ran, and however busy others
    (as a load generator beside it) keep the rest, as long as something is left. So are many that are bound to one core.
    """
    rates = host.rates
    if rates is None or rates.cpu is None or len(rates.cores) < 2:
        return None
    fullest = max(rates.cores, key=lambda core: core.shares.busy)
    process = _busiest(rates.processes or (), {group.group for group in rates.of_role()} or {OTHER})
    share = 0.0 if process is None or process.cpu is None else process.cpu
    threads = 1 if process is None else max(1, process.process.threads)
    waiting = measured.load is not None and _several(measured.load)
    # Beside a known web server, a core that something else fills is no limit of the server.
    bound = _bound_to_a_core(rates)
    filled = share >= PROCESS_PCT or bound > 0 if rates.processes is not None else True
    single = process is not None and threads == 1 and share >= CORE_PCT
    alone = rates.cpu.busy < (BUSY_PCT if single else MEAN_PCT) and waiting and filled
    return Assessment(
        "cpu-core",
        host.name,
        over=(single or fullest.shares.busy > CORE_PCT) and alone,
        held=(single or fullest.shares.busy > CORE_CLEAR_PCT) and alone,
        evidence=(
            Evidence(
                f"core{fullest.id}.busy_pct", host.name, fullest.shares.busy, CORE_PCT, "%", "PCP percpu/some_util"
            ),
            Evidence("cpu.busy_pct", host.name, rates.cpu.busy, MEAN_PCT, "%", "loadtop, calibrated", below=True),
            *evidence_of(
                host.name,
                ("process.cpu_pct", None if process is None else share, PROCESS_PCT, "%", "loadtop, calibrated"),
            ),
        ),
        advice=lambda: _core_advice(process, bound if share < PROCESS_PCT else 0),
        confidence=agreement(None if process is None else share >= PROCESS_PCT and threads == 1),
    )


def _core_advice(process: ProcessRates | None, bound: int) -> Message:
    if bound > 1:
        return Message(
            "The {bound} processes of the web server share one core while the others idle: "
            "let them use more (cpuset, taskset, CPUAffinity).",
            bound=bound,
        )
    if process is None:
        return Message(
            "A single-threaded part fills one core while the others idle: let more processes share its work."
        )
    return Message(
        "{name} (pid {pid}) fills one core while the others idle: let more processes share its work.",
        name=process.process.name,
        pid=process.process.pid,
    )


def _several(load: LoadSample) -> bool:
    """Whether requests wait for one another: two are in flight, or as many connections kept busy. Where another engine
    tells neither, it is believed."""
    asked = load.concurrency if load.in_flight is None else load.in_flight
    return asked is None or asked >= 2


def _bound_to_a_core(rates: HostRates) -> int:
    """How many processes of the web server take one core between them, as those do that may use one only; 0 where that
    is not so, or somebody else may be what fills a core."""
    servers = rates.of_role()
    names = {group.group for group in servers}
    together = sum(group.cpu or 0.0 for group in servers)
    others = (each.cpu or 0.0 for each in rates.processes or () if each.process.group not in names)
    bound = PROCESS_PCT <= together <= TOGETHER_PCT and max(others, default=0.0) < BESIDE_PCT
    return sum(group.processes for group in servers) if bound else 0


def _busiest(processes: Iterable[ProcessRates], groups: set[str]) -> ProcessRates | None:
    known = (rates for rates in processes if rates.cpu is not None and rates.process.group in groups)
    return max(known, key=lambda rates: rates.cpu or 0.0, default=None)


def _others(host: HostView, cores: int) -> Iterator[Message]:
    """Who else takes a part of the machine worth naming: the load generator, or processes of no server."""
    rates = host.rates
    if rates is None:
        return
    group = rates.group(LOADTOP)
    if group is not None and group.cpu is not None and group.cpu >= SHARED_PCT * cores:
        yield Message(
            "The load generator shares this machine and takes {share:.0f} % of its CPU: "
            "generate the load elsewhere for a true figure.",
            share=group.cpu / cores,
        )
    others = [each for each in rates.processes or () if each.process.group == OTHER and each.cpu]
    share = sum(each.cpu or 0.0 for each in others) / cores
    if not rates.of_role() or share < SHARED_PCT:
        return
    first, *more = sorted(others, key=lambda each: each.cpu or 0.0, reverse=True)
    beside = sum((each.cpu or 0.0) / cores >= SHARED_PCT / 2 for each in more)
    name, pid = first.process.name, first.process.pid
    if beside:
        yield Message(
            "{name} (pid {pid}) and {more} more, no part of the web server, take {share:.0f} % of it.",
            name=name,
            pid=pid,
            more=beside,
            share=share,
        )
    else:
        yield Message(
            "{name} (pid {pid}), no part of the web server, takes {share:.0f} % of it.", name=name, pid=pid, share=share
        )


def headroom(host: HostView) -> Iterable[Evidence]:
    """How busy the processors are, while that is no limit."""
    if host.rates is not None and host.rates.cpu is not None:
        yield Evidence("cpu.busy_pct", host.name, host.rates.cpu.busy, BUSY_PCT, "%", "PCP cpu/util", below=True)


CPU = Verdict(
    name="cpu",
    letter="C",
    title="CPU",
    sentence="The CPU is the limit",
    headline="is the limit",
    family=Family.PROCESSOR,
    explains=(Family.POOL,),
    of_host=assess_all,
    headroom=headroom,
    titles={"cpu.busy_pct": "CPU busy", "running": "want to run"},
)

CPU_CORE = Verdict(
    name="cpu-core",
    letter="1",
    title="ONE CORE",
    sentence="One core is the limit",
    headline="is the limit, others idle",
    family=Family.PROCESSOR,
    explains=(Family.POOL,),
    of_host=assess_core,
    titles={"process.cpu_pct": "busiest process"},
)
