"""The load generator: its processors, and the local ports and file descriptors without which it cannot connect. When
it is full, every figure is about itself and not about the server."""

from loadtop.diagnosis.cpu import BUSY_PCT, ENGAGED_PCT, PERIODS_CLEAR_PCT, PERIODS_PCT, engaged_share
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds
from loadtop.i18n import Message, sentences
from loadtop.model import LOADTOP, GeneratorSample, LoadSample
from loadtop.model.load import RESERVED_FILES
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HostRates

WORKER_PCT, WORKER_CLEAR_PCT = 90.0, 80.0
"""Percent of one core that the busiest worker process takes, or wants and waits for: Locust warns above 90."""

MACHINE_PCT, MACHINE_CLEAR_PCT = 80.0, 70.0  # of a machine that only generates: k6 asks for 20 % idle

OWN_PCT = 20.0  # percent of the machine that the generator must take for its full CPU to be its own; our own

DELAY_MS = 10.0  # ms that the event loop of a worker comes late: it waits for a processor; our own
UNSENT_PCT = 1.0  # percent of the requests due that were not sent on time; our own (k6 counts any dropped iteration)

PORTS_PCT, PORTS_CLEAR_PCT = 80.0, 70.0
"""Percent of the range of local ports. No monitor has an alarm for it; 80 is node-mixin's middle for descriptors."""


def _assess_process(measured: Measured) -> Assessment | None:
    """Its busiest worker process fills a core or waits for one, it cannot keep to the schedule, or a quota stops it."""
    rates = measured.load_rates
    if rates is None or rates.generator is None:
        return None
    generator = rates.generator
    missed = generator.unsent or 0.0
    due = (rates.rps or 0.0) + missed
    unsent = 100.0 * missed / due if due else 0.0
    wait = None if _server_waits_too(measured) else generator.wait
    wanted = generator.busiest if wait is None else generator.wanted or 0.0
    cpus = [host.cpu for host in measured.hosts if host.state.is_generator]
    wanted *= 100.0 / min((max(1.0, cpu.delivered) for cpu in cpus if cpu is not None), default=100.0)
    full, late = wanted > WORKER_PCT, unsent > UNSENT_PCT
    stopped = 0.0 if generator.throttled is None or _shares_a_quota(measured) else generator.throttled
    waits = full and generator.busiest <= WORKER_PCT
    often = stopped if stopped > PERIODS_CLEAR_PCT else None
    return Assessment(
        over=full or late or stopped > PERIODS_PCT,
        held=wanted > WORKER_CLEAR_PCT or late or often is not None,
        evidence=(
            Row("generator.throttled_pct", often, PERIODS_PCT, "%", "awesome-prometheus-alerts: 25 %"),
            Row("generator.worker_cpu_pct", generator.busiest, WORKER_PCT, "%", "Locust's warning level: 90 %"),
            Row(
                "generator.worker_wanted_pct",
                wanted if waits else None,
                WORKER_PCT,
                "%",
                "Locust's warning level, with CPU waits",
            ),
            Row("generator.unsent_pct", unsent if late else None, UNSENT_PCT, "%", "loadtop, calibrated"),
        ),
        advice=lambda: _advice(measured, generator.workers, stopped, wait if waits else None),
        confidence=agreement(full or stopped > PERIODS_PCT, exceeds(generator.loop_delay_ms, DELAY_MS)),
    )


def _beside(measured: Measured) -> list[HostView]:
    """The machines under test that generate the load too, also where another host is the same machine."""
    boots = {host.boot_id for host in measured.hosts if host.state.is_generator} - {""}
    tested = [host for host in measured.hosts if host.state.is_target]
    return [host for host in tested if host.state.is_generator or host.boot_id in boots]


def _server_waits_too(measured: Measured) -> bool:
    """Whether the server beside the generator waits for the same processors, or may do so."""
    for host in _beside(measured):
        engaged = engaged_share(measured, host)
        if engaged is None:
            cpu = host.cpu
            engaged = 100.0 if cpu is None or cpu.busy > BUSY_PCT else 0.0
        if engaged > ENGAGED_PCT:
            return True
    return False


def _advice(measured: Measured, workers: int, stopped: float, wait: float | None) -> Message:
    template = "Use --workers {workers} or another machine: the load generator is at its limit; the server may not be."
    engine = "builtin" if measured.load is None else measured.load.engine
    if stopped > PERIODS_PCT:
        template = (
            "Raise the load generator's CPU quota (CPUQuota, docker --cpus) or use another machine: the generator is "
            "throttled in {share:.0f} % of the periods, and the server may not be at its limit."
        )
    elif wait:
        template = (
            "Stop other programs, give the load generator more CPUs, or use another machine: the generator waits for "
            "a CPU {wait:.0f} % of the time, and the server may not be at its limit."
        )
    elif engine != "builtin":
        template = (
            "Give {engine} more threads or processes, or use another machine: the load generator is at its limit; "
            "the server may not be."
        )
    return Message(template, share=stopped, engine=engine, workers=workers + 1, wait=wait)


def _shares_a_quota(measured: Measured) -> bool:
    """Whether a server beside the generator is stopped by a quota too: that is then ``throttled``, of both."""
    groups = (rates for host in _beside(measured) for _, rates in host.control_groups())
    return any(rates is not None and (rates.throttled or 0.0) > PERIODS_CLEAR_PCT for rates in groups)


def _assess_machine(measured: Measured, host: HostView) -> Assessment | None:
    """The processors of a machine that only generates load are nearly full, by the load generator, or so that it has to
    wait for them. What else is at work there is no limit while the generator is served in time. Another name of the
    machine under test is not a separate machine."""
    tested = {each.boot_id for each in measured.hosts if each.state.is_target} - {""}
    if host.rates is None or host.cpu is None or host.boot_id in tested:
        return None
    busy = host.cpu.busy
    has_effect = _has_effect(measured, host, host.rates)
    return Assessment(
        over=busy > MACHINE_PCT and has_effect,
        held=busy > MACHINE_CLEAR_PCT and has_effect,
        evidence=(Row("cpu.busy_pct", busy, MACHINE_PCT, "%", "k6's manual: leave 20 % idle"),),
        advice=Message(
            "Generate the load on another machine, or on more machines: {host} has almost no idle CPU left.",
            host=host.name,
        ),
        confidence=agreement(),
    )


def _has_effect(measured: Measured, host: HostView, rates: HostRates) -> bool:
    """Whether the generator takes a good part of the machine or waits for its turn; yes where that is not known."""
    group = rates.group(LOADTOP)
    generator = None if measured.load_rates is None else measured.load_rates.generator
    if group is None or group.cpu is None or generator is None or generator.loop_delay_ms is None:
        return True
    return group.cpu >= OWN_PCT * host.cores or generator.loop_delay_ms > DELAY_MS


GENERATOR = Verdict(
    name="generator",
    letter="G",
    title="generator",
    sentence="The load generator is the limit",
    headline="the load generator is the limit, not the server",
    clause=True,
    family=Family.CLIENT,
    of_load=_assess_process,
    of_generator=_assess_machine,
    doubtful=True,
    titles={
        "generator.worker_cpu_pct": "busiest generator process",
        "generator.worker_wanted_pct": "generator CPU plus CPU wait",
        "generator.unsent_pct": "requests never sent",
        "generator.throttled_pct": "periods throttled",
    },
)


def _assess_ports(measured: Measured) -> Assessment | None:
    """Nearly all local ports are in use or in TIME_WAIT, or connect(2) has said that none is left."""
    load, rates = measured.load, measured.load_rates
    if load is None or load.generator is None:
        return None
    generator = load.generator
    used, limit = generator.ports_used, generator.ports_limit
    share = None if used is None or not limit else 100.0 * used / limit
    failed = (rates.failed if rates is not None else None) or 0.0
    refused = load.no_local_port and failed > 0
    if share is None and not refused:
        return None
    return Assessment(
        over=refused or (share or 0.0) > PORTS_PCT,
        held=refused or (share or 0.0) > PORTS_CLEAR_PCT,
        evidence=(
            Row("generator.ports_pct", share, PORTS_PCT, "%", "loadtop: 80 % of the port range"),
            Row("load.failed_s", failed if refused else None, 0, "/s", "connect(2): EADDRNOTAVAIL, no port left"),
        ),
        advice=lambda: _ports_advice(load, generator),
        confidence=agreement(refused, exceeds(share, PORTS_PCT)),
        certain=refused,
    )


def _ports_advice(load: LoadSample, generator: GeneratorSample) -> Message:
    fix = "Use more machines, run several tests with different -B, or widen net.ipv4.ip_local_port_range."
    if load.keepalive is False:
        fix = "Use -k, use more machines, run several tests with different -B, or widen net.ipv4.ip_local_port_range."
    cause = Message(
        "The generator is out of local ports: each open connection holds one, and so does each that loadtop closed in "
        "the last minute (TIME_WAIT)."
    )
    ports = generator.ports_limit
    if not ports:
        return sentences(Message(fix), cause)
    most = Message(
        "{ports} ports allow about {rate} new connections/s if loadtop, not the server, closes them.",
        ports=ports,
        rate=ports // 60,
    )
    return sentences(Message(fix), cause, most)


CLIENT_PORTS = Verdict(
    name="client-ports",
    letter="P",
    title="client ports",
    sentence="The generator's ports are the limit",
    headline="the generator runs out of ports",
    clause=True,
    family=Family.CLIENT,
    explains=(Family.POOL,),
    of_load=_assess_ports,
    doubtful=True,
    titles={"generator.ports_pct": "local ports in use", "load.failed_s": "failed connections"},
)


def _assess_files(measured: Measured) -> Assessment | None:
    """The limit of open files allows fewer connections than the load needs."""
    load = measured.load
    if load is None or load.generator is None:
        return None
    generator = load.generator
    limit = generator.files_limit
    if generator.files_used is None or not limit:
        return None
    workers = max(1, len(generator.worker_cpu_s))
    room = max(0, limit - RESERVED_FILES)
    wanted = -(-load.concurrency // workers) if load.concurrency is not None and load.rate is None else None
    wanted = load.refused_connections or wanted
    connections, in_flight = load.connections or 0, load.in_flight or 0
    open_now = connections / workers
    short = wanted is not None and wanted > room
    # In the open model as many connections are opened as are needed; what is overdue then waits for a descriptor.
    used_up = wanted is None and open_now >= 0.98 * room and in_flight >= 0.98 * connections > 0
    asked = float(wanted) if wanted is not None else open_now
    return Assessment(
        over=short or used_up,
        held=short or used_up,
        evidence=(
            Row("generator.connections", asked, room, "conn", f"ulimit -n minus {RESERVED_FILES} reserved"),
            Row("generator.files", generator.files_used, limit, "files", "ulimit -n"),
        ),
        advice=lambda: _files_advice(limit, room, wanted, workers),
        confidence=agreement(short),
        certain=short,
    )


def _files_advice(limit: int, room: int, wanted: int | None, workers: int) -> Message:
    """``wanted`` connections of each of ``workers`` processes."""
    enough = workers + 1 if wanted is None or not room else max(workers + 1, -(-wanted * workers // room))
    raised = max(2 * limit, (wanted or 0) + RESERVED_FILES)
    template = (
        "Raise the limit of open files (ulimit -n {raised:d}) or use --workers {workers}: {limit} files per process "
        "allow {room} connections."
    )
    if wanted is not None:
        template = (
            "Raise the limit of open files (ulimit -n {raised:d}) or use --workers "
            "{workers}: {limit} files per process allow {room} connections, but "
            "{wanted} are needed."
        )
    return Message(template, limit=limit, room=room, wanted=wanted, raised=raised, workers=enough)


CLIENT_FILES = Verdict(
    name="client-files",
    letter="F",
    title="client files",
    sentence="The generator's file descriptors are the limit",
    headline="the generator runs out of file descriptors",
    clause=True,
    family=Family.CLIENT,
    explains=(Family.POOL,),
    of_load=_assess_files,
    doubtful=True,
    titles={"generator.connections": "connections needed", "generator.files": "open files"},
)
