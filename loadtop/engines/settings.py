"""What loads by Locust and JMeter have in common before they run: their machines, and errors."""

from dataclasses import dataclass
from math import ceil

from loadtop.generator.plan import Plan, PlanError
from loadtop.i18n.message import Message

USERS_PER_RATE = 2
"""Simulated users for each request/s of an open model: the rate holds while responses take up to two seconds."""

_ADVICE = Message("leave it out, or use the built-in engine")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that makes load. ``place`` is ``local`` or ``ssh://[USER@]HOST[:PORT]``."""

    name: str
    place: str

    @property
    def remote(self) -> bool:
        return self.place != "local"


LOCAL = Machine("this machine", "local")


def users_for_rate(rate: float) -> int:
    """Return how many simulated users an open model of ``rate`` requests/s needs."""
    return max(1, ceil(rate * USERS_PER_RATE))


def impossible(option: str | Message, engine: str, advice: Message = _ADVICE) -> PlanError:
    return PlanError(
        "{option} is not possible with --engine {engine}: {advice}", option=option, engine=engine, advice=advice
    )


def check_targets(plan: Plan, engine: str) -> None:
    """Raise PlanError for a step with targets of its own. The table of options says which options an engine lacks."""
    if any(step.targets is not None for step in plan.steps):
        raise impossible(Message("a step with targets of its own"), engine)
