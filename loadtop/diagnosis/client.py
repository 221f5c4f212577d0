"""The generator's own supplies: local ports and file descriptors, without which it cannot open connections."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message, sentences
from loadtop.i18n.message import Parameter
from loadtop.model import GeneratorSample, LoadSample
from loadtop.rates.measured import Measured

PORTS_PCT = 80.0
PORTS_CLEAR_PCT = 70.0
"""Percent of the range of local ports. No monitor has an alarm for it; 80 is node-mixin's middle for descriptors."""

FILES_SPARE = 32
"""Descriptors that a worker process keeps for other things than connections (see loadtop.generator.limits)."""


def assess_ports(measured: Measured) -> Assessment | None:
    """``client-ports``: nearly all local ports are in use or in TIME_WAIT, or connect(2) has said that none is left."""
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
        "client-ports",
        None,
        over=refused or (share is not None and share > PORTS_PCT),
        held=refused or (share is not None and share > PORTS_CLEAR_PCT),
        evidence=(
            *evidence_of(
                "generator", ("generator.ports_pct", share, PORTS_PCT, "%", "loadtop: 80 % of the port range")
            ),
            *evidence_of(
                "load",
                ("load.failed_s", failed if refused else None, 0, "/s", "connect(2): EADDRNOTAVAIL, no port left"),
            ),
        ),
        advice=lambda: _ports_advice(load, generator),
        confidence=agreement(refused, exceeds(share, PORTS_PCT)),
        certain=refused,
    )


def assess_files(measured: Measured) -> Assessment | None:
    """``client-files``: the limit of open files allows fewer connections than the load wants."""
    load = measured.load
    if load is None or load.generator is None:
        return None
    generator = load.generator
    limit = generator.files_limit
    if generator.files_used is None or not limit:
        return None
    workers = max(1, len(generator.worker_cpu_s))
    room = max(0, limit - FILES_SPARE)
    wanted = -(-load.concurrency // workers) if load.concurrency is not None and load.rate is None else None
    wanted = load.refused_connections or wanted
    connections, flying = load.connections or 0, load.in_flight or 0
    open_now = connections / workers
    short = wanted is not None and wanted > room
    # In the open model as many connections are opened as are needed; what is overdue then waits for a descriptor.
    used_up = wanted is None and open_now >= 0.98 * room and flying >= 0.98 * connections > 0
    asked = float(wanted) if wanted is not None else open_now
    return Assessment(
        "client-files",
        None,
        over=short or used_up,
        held=short or used_up,
        evidence=evidence_of(
            "generator",
            ("generator.connections", asked, room, "conn", f"limit of files less {FILES_SPARE} in use"),
            ("generator.files", generator.files_used, limit, "files", "ulimit -n"),
        ),
        advice=lambda: _files_advice(limit, room, wanted, workers),
        confidence=agreement(short),
        certain=short,
    )


def _files_advice(limit: int, room: int, wanted: int | None, workers: int) -> Message:
    """``wanted`` connections of each of ``workers`` processes."""
    enough = workers + 1 if wanted is None or not room else max(workers + 1, -(-wanted * workers // room))
    raised = max(2 * limit, (wanted or 0) + FILES_SPARE)
    figures: dict[str, Parameter] = {"limit": limit, "room": room, "raised": raised, "workers": enough}
    if wanted is None:
        return Message(
            "One generator process may open {limit} files, enough for {room} connections: raise the limit "
            "(ulimit -n {raised}) or use --workers {workers}.",
            **figures,
        )
    return Message(
        "One generator process may open {limit} files, enough for {room} connections, and {wanted} are wanted: "
        "raise the limit (ulimit -n {raised}) or use --workers {workers}.",
        wanted=wanted,
        **figures,
    )


def _ports_advice(load: LoadSample, generator: GeneratorSample) -> Message:
    cause = Message("The generator runs out of local ports: each closed connection keeps one for a minute (TIME_WAIT).")
    if generator.ports_limit:
        cause = Message(
            "The generator runs out of local ports: each closed connection keeps one for a minute (TIME_WAIT), so "
            "{ports} ports allow about {rate} new connections/s.",
            ports=generator.ports_limit,
            rate=generator.ports_limit // 60,
        )
    if load.keepalive is False:
        fix = Message("Use -k, or generate from more addresses or machines, or widen net.ipv4.ip_local_port_range.")
    else:
        fix = Message("Generate from more addresses or machines, or widen net.ipv4.ip_local_port_range.")
    return sentences(cause, fix)


CLIENT_PORTS = Verdict(
    name="client-ports",
    letter="P",
    title="CLIENT PORTS",
    sentence="The generator's ports are the limit",
    headline="the generator runs out of ports",
    clause=True,
    family=Family.CLIENT,
    explains=(Family.POOL,),
    of_load=assess_ports,
    doubtful=True,
    titles={"generator.ports_pct": "local ports in use", "load.failed_s": "failed connections"},
)

CLIENT_FILES = Verdict(
    name="client-files",
    letter="F",
    title="CLIENT FILES",
    sentence="The generator's file descriptors are the limit",
    headline="the generator runs out of file descriptors",
    clause=True,
    family=Family.CLIENT,
    explains=(Family.POOL,),
    of_load=assess_files,
    doubtful=True,
    titles={"generator.connections": "connections wanted", "generator.files": "open files"},
)
