"""What Locust is to run: checks of the plan, and the JSON that our locustfile reads."""

import json
from dataclasses import dataclass

from loadtop.engines.settings import Machine, check_targets, impossible, users_for_rate
from loadtop.generator.plan import Plan, Step
from loadtop.i18n.message import Message


@dataclass(frozen=True, slots=True)
class LocustSettings:
    """A load by Locust. ``user_plan`` is the text of the user's locustfile; without one, the plan's targets are
    requested. ``program`` is Locust's command here; other machines look for it on PATH."""

    plan: Plan
    machines: tuple[Machine, ...]
    program: str
    user_plan: str | None = None

    @property
    def processes(self) -> int:
        """Worker processes on all machines."""
        return self.plan.workers * len(self.machines)


def check(plan: Plan) -> None:
    """Raise PlanError for what Locust cannot do."""
    if plan.more_workers:
        raise impossible("--workers auto", "locust", Message("give a number of workers"))
    check_targets(plan, "locust")


def users_of(step: Step) -> int:
    """Return the simulated users of a step: one for each connection, or enough for the rate."""
    return users_for_rate(step.rate or 0.0) if step.concurrency is None else step.concurrency


def rate_per_user(plan: Plan) -> float | None:
    """Return the requests/s of each user in the open model. The number of users follows the rate of each step."""
    step = plan.steps[0]
    return None if step.rate is None else step.rate / users_of(step)


def plan_json(settings: LocustSettings) -> str:
    """Return what our locustfile reads. It may hold secrets: only for pipes and private files."""
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
            "targets": targets if settings.user_plan is None else [],
            "host": f"{plan.targets[0].scheme}://{plan.targets[0].origin.authority}",
            "rate_per_user": rate_per_user(plan),
            "keepalive": plan.keepalive,
            "insecure": not plan.verify_tls,
            "timeout_s": plan.timeout_s,
        }
    )
