"""Our plan as Locust is to run it: what it can do of it, and the JSON that its part of loadtop reads."""

import json
from dataclasses import dataclass
from math import ceil

from loadtop.engines.generator import Generator
from loadtop.generator.plan import Plan, PlanError, Step

SPARE_USERS = 2
"""Users for each request/s of an open model: with them, answers may take two seconds before the rate is not kept."""


@dataclass(frozen=True, slots=True)
class LocustSettings:
    """A whole load by Locust. ``own`` is the text of the user's own locustfile; without, the plan's targets are
    requested. ``program`` is Locust's command here; on other machines it is looked for on PATH."""

    plan: Plan
    generators: tuple[Generator, ...]
    program: str
    own: str | None = None

    @property
    def processes(self) -> int:
        """Workers in all."""
        return self.plan.workers * len(self.generators)


def check(plan: Plan) -> None:
    """Raise PlanError for what Locust cannot do."""
    reasons = {
        "-n": any(step.requests is not None for step in plan.steps),
        "-X": plan.proxy is not None,
        "-B": plan.bind is not None,
        "-b": plan.socket_buffer is not None,
        "-f, -Z, -E and -I": plan.tls != type(plan.tls)(),
        "-v": bool(plan.verbosity),
        "--workers auto": plan.more_workers,
    }
    for option, given in reasons.items():
        if given:
            instead = (
                "give a time with -t or --step-time" if option == "-n" else "leave it out, or use the built-in engine"
            )
            raise PlanError(f"{option} is not possible with --engine locust: {instead}")
    if any(step.targets is not None for step in plan.steps):
        raise PlanError("steps with targets of their own are not possible with --engine locust")


def users_of(step: Step) -> int:
    """Simulated users of a step: as many as connections, or enough for a rate."""
    if step.concurrency is not None:
        return step.concurrency
    return max(1, ceil((step.rate or 0.0) * SPARE_USERS))


def rate_per_user(plan: Plan) -> float | None:
    """Requests per second of one user in the open model. With several steps the number of users follows the rate."""
    step = plan.steps[0]
    return None if step.rate is None else step.rate / users_of(step)


def far_plan(settings: LocustSettings) -> str:
    """The JSON that Locust's part reads. It may hold secrets: it goes through pipes and private files only."""
    plan = settings.plan
    targets = [
        {
            "url": target.url,
            "path": target.path,
            "method": target.method,
            "headers": {"User-Agent": plan.user_agent, "Accept": "*/*", **dict(target.headers)},
            "body": None if target.body is None else target.body.hex(),
            "weight": target.weight,
        }
        for target in plan.targets
    ]
    return json.dumps(
        {
            "targets": [] if settings.own is not None else targets,
            "host": f"{plan.targets[0].scheme}://{plan.targets[0].origin.authority}",
            "rate_per_user": rate_per_user(plan),
            "keepalive": plan.keepalive,
            "insecure": not plan.verify_tls,
            "timeout_s": plan.timeout_s,
        }
    )
