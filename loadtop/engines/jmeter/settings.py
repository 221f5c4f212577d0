"""What JMeter is to run: what it can do of our plan, and each machine's part of it."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, lcm
from pathlib import Path

from loadtop.engines.generator import Generator
from loadtop.generator.plan import Plan, PlanError, Step

SPARE_USERS = 2
"""Threads for each request/s of an open model: with them, answers may take two seconds before the rate is not kept."""

MOST_SAMPLERS = 200
"""Requests that a plan may hold so that weights come true: JMeter draws one of them at random."""

METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE")


@dataclass(frozen=True, slots=True)
class OwnPlan:
    """The user's plan. ``threads`` and ``duration``: whether it reads these properties, for -c and -t."""

    file: Path
    text: str
    threads: bool
    duration: bool


@dataclass(frozen=True, slots=True)
class JmeterSettings:
    """A whole load by JMeter. ``timed`` and ``counted``: whether -t and -c were given, where the plan is the user's.
    ``servers`` are jmeter-servers that make the load: JMeter runs here then, as their client."""

    plan: Plan
    generators: tuple[Generator, ...]
    program: str
    own: OwnPlan | None = None
    timed: bool = True
    counted: bool = True
    servers: tuple[str, ...] = ()

    @property
    def machines(self) -> int:
        """How many make the load."""
        return len(self.servers or self.generators)

    @property
    def can_change(self) -> bool:
        """Whether it can be begun again with another number of threads, as if it had gone on."""
        if self.own is not None:
            return self.own.threads and self.counted
        step = self.plan.steps[0]
        return len(self.plan.steps) == 1 and step.requests is None and step.rate is None

    @property
    def end_s(self) -> float | None:
        """Seconds after which the load ends, as far as that was said."""
        durations = [step.duration_s for step in self.plan.steps]
        if not self.timed or None in durations:
            return None
        return sum(duration for duration in durations if duration is not None)


def check(plan: Plan) -> None:
    """Raise PlanError for what JMeter cannot do of a plan of ours."""
    reasons = {
        "-X": plan.proxy is not None,
        "-B": plan.bind is not None,
        "-b": plan.socket_buffer is not None,
        "-f, -Z, -E and -I": plan.tls != type(plan.tls)(),
        "-v": bool(plan.verbosity),
        "--workers": plan.more_workers or plan.workers > 1,
    }
    for option, given in reasons.items():
        if given:
            instead = "one process uses all cores" if option == "--workers" else "or use the built-in engine"
            raise PlanError(f"{option} is not possible with --engine jmeter: leave it out, {instead}")
    if any(step.targets is not None for step in plan.steps):
        raise PlanError("steps with targets of their own are not possible with --engine jmeter")
    if plan.verify_tls and any(target.scheme == "https" for target in plan.targets):
        raise PlanError("--engine jmeter checks no certificates: add --insecure to say that this is all right")
    for target in plan.targets:
        if target.method not in METHODS:
            raise PlanError(f"-m {target.method} is not possible with --engine jmeter: it knows {', '.join(METHODS)}")
        body = _text(target.body)
        if "${" in json.dumps([target.path, target.headers, body]):
            raise PlanError("${ in a URL, header or body is JMeter's own syntax: use --plan PLAN.jmx for that")
    samplers(plan)
    uneven = (step for step in plan.steps if step.requests is not None and step.requests % users_of(step))
    if in_turn(plan) and (step := next(uneven, None)) is not None:
        raise PlanError(f"-n {step.requests}: with --engine jmeter a multiple of each step's {users_of(step)} threads")


def check_even(plan: Plan, servers: int) -> None:
    """Raise PlanError where jmeter-servers, which all run the same plan, cannot share it out."""
    for step in plan.steps:
        for option, whole in (("-c", step.concurrency), ("-n", step.requests)):
            if whole is not None and whole % servers:
                raise PlanError(f"{option} {whole}: give a multiple of {servers}, every server of -R does the same")


def in_turn(plan: Plan) -> bool:
    """Whether groups of threads run one after another."""
    return len(plan.steps) > 1 or plan.warmup_s > 0


def samplers(plan: Plan) -> list[int]:
    """Indexes of the targets, each as often as its weight wants it. Raises PlanError where that is too often."""
    weights = [Fraction(target.weight).limit_denominator(MOST_SAMPLERS) for target in plan.targets]
    least = min(weights)
    parts = [weight / least if least else weight for weight in weights]
    common = lcm(*(part.denominator for part in parts))
    times = [part * common for part in parts]
    if not least or sum(times) > MOST_SAMPLERS:
        raise PlanError(
            f"these weights take more than {MOST_SAMPLERS} requests in JMeter's plan: give small whole numbers"
        )
    return [index for index, each in enumerate(times) for _ in range(int(each))]


def users_of(step: Step) -> int:
    """Threads of a step: as many as connections, or enough for a rate."""
    if step.rate is None:
        return step.concurrency or 1
    return max(1, ceil(step.rate * SPARE_USERS))


def part_of(plan: Plan, number: int, of: int) -> Plan:
    """What one of several machines does of a plan, counted from 0. Raises PlanError where it cannot be shared out."""
    return replace(plan, steps=tuple(_share(step, number, of) for step in plan.steps))


def _share(step: Step, number: int, of: int) -> Step:
    def piece(whole: int, option: str) -> int:
        if whole < of:
            raise PlanError(f"{option} {whole} cannot be shared out among {of} machines: give {of} or more")
        return whole // of + (number < whole % of)

    return Step(
        concurrency=None if step.concurrency is None else piece(step.concurrency, "-c"),
        rate=None if step.rate is None else step.rate / of,
        duration_s=step.duration_s,
        requests=None if step.requests is None else piece(step.requests, "-n"),
    )


def _text(body: bytes | None) -> str:
    """A body as the text that a plan in XML can hold."""
    try:
        text = (body or b"").decode()
    except UnicodeDecodeError:
        text = "\0"
    if any(ord(each) < 32 and each not in "\t\r\n" for each in text):
        raise PlanError("a body that is no plain text is not possible with --engine jmeter: use the built-in engine")
    return text
