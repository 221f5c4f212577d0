"""The load generator: when it is full, every figure is about itself and not about the server."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.throttled import PERIODS_CLEAR_PCT, PERIODS_PCT
from loadtop.diagnosis.verdict import Family, Verdict, Where
from loadtop.i18n import Message
from loadtop.model import LOADTOP
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HostRates

NAME = "generator"

WORKER_PCT = 90.0
WORKER_CLEAR_PCT = 80.0
"""Percent of one core of the busiest worker process: Locust warns above 90."""

MACHINE_PCT = 80.0
MACHINE_CLEAR_PCT = 70.0
"""Percent of a machine that only generates load: k6's documentation asks to leave 20 % idle."""

OWN_PCT = 20.0
"""Percent of the machine that the load generator itself must take for its full processors to be its own; our own."""

DELAY_MS = 10.0
"""ms that the event loop of a worker comes late: it waits for a processor; our own."""

UNSENT_PCT = 1.0
"""Percent of the requests due that were not sent on time; our own (k6 counts any dropped iteration)."""


def assess_process(measured: Measured) -> Assessment | None:
    """``generator``: its busiest worker process fills a core, it cannot keep to the schedule, or a quota stops it."""
    rates = measured.load_rates
    if rates is None or rates.generator is None:
        return None
    generator = rates.generator
    missed = generator.unsent or 0.0
    due = (rates.rps or 0.0) + missed
    unsent = 100.0 * missed / due if due else 0.0
    full, late = generator.busiest > WORKER_PCT, unsent > UNSENT_PCT
    stopped = 0.0 if generator.throttled is None or _shares_a_quota(measured) else generator.throttled
    return Assessment(
        NAME,
        None,
        over=full or late or stopped > PERIODS_PCT,
        held=generator.busiest > WORKER_CLEAR_PCT or late or stopped > PERIODS_CLEAR_PCT,
        evidence=evidence_of(
            "generator",
            (
                "generator.throttled_pct",
                stopped if stopped > PERIODS_CLEAR_PCT else None,
                PERIODS_PCT,
                "%",
                "awesome-prometheus-alerts: 25 %",
            ),
            ("generator.worker_cpu_pct", generator.busiest, WORKER_PCT, "%", "Locust: over 90 %"),
            ("generator.unsent_pct", unsent if late else None, UNSENT_PCT, "%", "loadtop, calibrated"),
        ),
        advice=lambda: _advice(measured, generator.workers, stopped),
        confidence=agreement(full or stopped > PERIODS_PCT, exceeds(generator.loop_delay_ms, DELAY_MS)),
    )


def _advice(measured: Measured, workers: int, stopped: float) -> Message:
    if stopped > PERIODS_PCT:
        return Message(
            "The load generator's own CPU quota stops it in {share:.0f} % of the periods, the server may do more: "
            "raise that quota (CPUQuota, docker --cpus), or generate from another machine.",
            share=stopped,
        )
    if measured.load is not None and measured.load.engine != "builtin":
        return Message(
            "The load generator is full, the server may do more: give {engine} more threads or processes, where it can "
            "have them, or generate from another machine.",
            engine=measured.load.engine,
        )
    return Message(
        "The load generator is full, the server may do more: use --workers {workers}, or generate from another "
        "machine.",
        workers=workers + 1,
    )


def _shares_a_quota(measured: Measured) -> bool:
    """Whether the web server beside the generator is stopped by a quota too: that is then ``throttled``, of both."""
    beside = [host.rates for host in measured.hosts if "generator" in host.state.role and "target" in host.state.role]
    groups = [rates.cgroup for rates in beside if rates is not None and rates.cgroup is not None]
    return any((group.throttled or 0.0) > PERIODS_CLEAR_PCT for group in groups)


def assess_machine(measured: Measured, host: HostView) -> Assessment | None:
    """``generator`` for a machine that only generates load: its processors are nearly full, by the load generator, or
    so that it has to wait for them. What else is at work there is no limit while the generator is served in time."""
    if host.rates is None or host.rates.cpu is None:
        return None
    busy = host.rates.cpu.busy
    felt = _is_felt(measured, host, host.rates)
    return Assessment(
        NAME,
        host.name,
        over=busy > MACHINE_PCT and felt,
        held=busy > MACHINE_CLEAR_PCT and felt,
        evidence=evidence_of(host.name, ("cpu.busy_pct", busy, MACHINE_PCT, "%", "k6: leave 20 % idle")),
        advice=Message(
            "{host}, which generates the load, is nearly full: use another or a further machine for that.",
            host=host.name,
        ),
        confidence=agreement(),
    )


def _is_felt(measured: Measured, host: HostView, rates: HostRates) -> bool:
    """Whether the generator takes a good part of the machine or waits for its turn; yes where that is not known."""
    group = rates.group(LOADTOP)
    generator = None if measured.load_rates is None else measured.load_rates.generator
    if group is None or group.cpu is None or generator is None or generator.loop_delay_ms is None:
        return True
    cores = len(rates.cores) or (1 if host.sample is None else host.sample.facts.cores)
    return group.cpu >= OWN_PCT * cores or generator.loop_delay_ms > DELAY_MS


GENERATOR = Verdict(
    name=NAME,
    letter="G",
    title="GENERATOR",
    sentence="The load generator is the limit",
    headline="the load generator is the limit, the figures are its own",
    clause=True,
    family=Family.CLIENT,
    of_load=assess_process,
    of_host=assess_machine,
    where=Where.GENERATORS,
    doubtful=True,
    titles={
        "generator.worker_cpu_pct": "busiest generator process",
        "generator.unsent_pct": "not sent on time",
        "generator.throttled_pct": "periods throttled",
    },
)
