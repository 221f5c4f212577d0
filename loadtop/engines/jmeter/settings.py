"""What JMeter is to run: checks of the plan, and each machine's share of it."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from loadtop.engines.jmeter.user_plan import UserPlan
from loadtop.engines.settings import Machine, check_targets, impossible, users_for_rate
from loadtop.generator.plan import Plan, PlanError, Step, total
from loadtop.i18n.message import Message

MAX_SAMPLERS = 200
"""Samplers in a plan: JMeter draws one of them at random, so a target needs as many as its weight."""

METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "TRACE")


@dataclass(frozen=True, slots=True)
class JmeterSettings:
    """A load by JMeter. ``program`` is its command here; other machines look for it on PATH.

    ``servers`` are remote servers that make the load; JMeter then runs here as their client. ``time_given`` and
    ``concurrency_given``: whether -t and -c set the duration and the threads of a user's plan.
    """

    plan: Plan
    machines: tuple[Machine, ...]
    program: str
    user_plan: UserPlan | None = None
    time_given: bool = True
    concurrency_given: bool = True
    servers: tuple[str, ...] = ()

    @property
    def machine_count(self) -> int:
        return len(self.servers or self.machines)

    @property
    def sets_threads(self) -> bool:
        """Whether the number of threads is ours to set, not that of the user's plan."""
        return self.user_plan is None or (self.user_plan.threads and self.concurrency_given)

    @property
    def can_restart(self) -> bool:
        """Whether JMeter can be restarted with another number of threads, as if the load had continued."""
        if self.user_plan is not None:
            return self.sets_threads
        step = self.plan.steps[0]
        return len(self.plan.steps) == 1 and step.requests is None and step.rate is None

    @property
    def duration_s(self) -> float | None:
        return total(step.duration_s for step in self.plan.steps) if self.time_given else None


def check(plan: Plan) -> None:
    """Raise PlanError for what JMeter cannot do, if the plan is not the user's own."""
    check_targets(plan, "jmeter")
    if plan.verify_tls and any(target.scheme == "https" for target in plan.targets):
        raise PlanError("--engine jmeter does not check certificates: add --insecure to accept that")
    for target in plan.targets:
        if target.method not in METHODS:
            known = Message("it knows {methods}", methods=", ".join(METHODS))
            raise impossible(f"-m {target.method}", "jmeter", known)
        if "${" in json.dumps([target.path, target.headers, _body_text(target.body)]):
            raise PlanError("${{ in a URL, header or body is JMeter's own syntax: use --plan PLAN.jmx for that")
    samplers(plan)
    for step in plan.steps:
        if runs_in_turn(plan) and step.requests is not None and step.requests % threads_of(step):
            raise PlanError(
                "-n {requests}: give a multiple of each step's {threads} threads with --engine jmeter",
                requests=step.requests,
                threads=threads_of(step),
            )


def check_even(plan: Plan, servers: int) -> None:
    """Raise PlanError if remote servers, which all run the same plan, cannot have equal shares."""
    for step in plan.steps:
        for option, number in (("-c", step.concurrency), ("-n", step.requests)):
            if number is not None and number % servers:
                raise PlanError(
                    "{option} {number}: give a multiple of {servers}, all servers of -R run the same plan",
                    option=option,
                    number=number,
                    servers=servers,
                )


def runs_in_turn(plan: Plan) -> bool:
    """Return whether thread groups run one after another."""
    return len(plan.steps) > 1 or plan.warmup_s > 0


def samplers(plan: Plan) -> list[int]:
    """Return indexes of the targets, each as often as its weight requires. Raises PlanError for too many."""
    weights = [Fraction(target.weight).limit_denominator(MAX_SAMPLERS) for target in plan.targets]
    least = min(weights)
    ratios = [weight / least if least else weight for weight in weights]
    common = lcm(*(ratio.denominator for ratio in ratios))
    times = [int(ratio * common) for ratio in ratios]
    if not least or sum(times) > MAX_SAMPLERS:
        raise PlanError(
            "these weights need more than {most} requests in JMeter's plan: give small whole numbers", most=MAX_SAMPLERS
        )
    return [index for index, number in enumerate(times) for _ in range(number)]


def threads_of(step: Step) -> int:
    """Return the threads of a step: one for each connection, or enough for the rate."""
    return step.concurrency or 1 if step.rate is None else users_for_rate(step.rate)


def share_of(plan: Plan, number: int, machines: int) -> Plan:
    """Return what machine ``number`` (from 0) does of a plan. Raises PlanError if it cannot be divided."""

    def share(whole: int, option: str) -> int:
        if whole < machines:
            raise PlanError(
                "{option} {number} cannot be divided among {machines} machines: give {machines} or more",
                option=option,
                number=whole,
                machines=machines,
            )
        return whole // machines + (number < whole % machines)

    steps = tuple(
        replace(
            step,
            concurrency=None if step.concurrency is None else share(step.concurrency, "-c"),
            rate=None if step.rate is None else step.rate / machines,
            requests=None if step.requests is None else share(step.requests, "-n"),
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _body_text(body: bytes | None) -> str:
    """Return a body as text that XML can hold."""
    try:
        text = (body or b"").decode()
    except UnicodeDecodeError:
        text = "\0"
    if any(ord(char) < 32 and char not in "\t\r\n" for char in text):
        raise impossible(Message("a body that is not plain text"), "jmeter")
    return text
