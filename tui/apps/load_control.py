"""Changes of the load by keys: by which step, and what to say about it."""

from collections.abc import Callable
from typing import Literal

from loadtop.i18n import Translatable, tr
from loadtop.model import LoadSample
from loadtop.pipeline.feed import Command, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad


def _stride(value: int) -> int:
    """Distance of round numbers around ``value``: 1 up to 10, 5 up to 50, 10 up to 100, 50 up to 500, and so on."""
    if value < 10:
        return 1
    power: int = 10 ** (len(str(value)) - 2)
    return 5 * power if value < 50 * power else 10 * power


def raised(value: int) -> int:
    stride = _stride(value)
    return (value // stride + 1) * stride


def lowered(value: int) -> int:
    stride = _stride(value - 1)
    return max(1, (value - 1) // stride * stride)


MOST = 200_000  # most connections or requests per second that can be typed; more is a typing error

LoadOwner = Literal["hand", "command", "tune", "plan"]  # who changes it: a person, its command, tune, a PLAN

_FIXED: dict[LoadOwner, Translatable] = {  # why a person cannot change the load
    "command": "this load cannot be changed while it runs",
    "tune": "tune controls the load: s stops it",
    "plan": "an experiment follows its plan: q stops it",
}


def _now(load: LoadSample) -> float:
    """Connections, or requests per second."""
    return load.rate if load.rate is not None else load.concurrency or 0


class LoadControl:
    """Turns keys into commands; each method returns what to say. Key presses add up while the load has not followed."""

    def __init__(self, command: Callable[[Command], None], owner: LoadOwner = "hand", most: int | None = None) -> None:
        """``most``: how many connections a person may set on a public address."""
        self._command = command
        self._most = most
        self._owner = owner
        self._not_by_hand = tr(_FIXED[owner]) if owner in _FIXED else ""
        self._wanted: int | None = None
        self._seen: float | None = None

    def why_fixed(self, load: LoadSample | None) -> str:
        """Say why the load cannot be changed now; empty where it can."""
        if load is None:
            return tr("there is no load to change")
        if self._not_by_hand:
            return self._not_by_hand
        if load.state.ended:
            return tr("the load has ended: r restarts it")
        return tr(_FIXED["command"]) if load.rate is None and load.concurrency is None else ""

    def turn(self, load: LoadSample | None, *, up: bool) -> str:
        problem = self.why_fixed(load)
        if load is None or problem:
            return problem
        now = _now(load)
        before = round(now) if self._wanted is None or now != self._seen else self._wanted
        if not up and before <= 1:
            return tr("already at the minimum of 1")
        return self._ask_for(load, before, raised(before) if up else lowered(before))

    def set(self, load: LoadSample | None, typed: str) -> str:
        problem = self.why_fixed(load)
        if load is None or problem:
            return problem
        try:
            wanted = round(float(typed))
        except ValueError:
            return tr("enter a number")
        if not 1 <= wanted <= MOST:
            return tr("enter 1 to {most}", most=MOST)
        return self._ask_for(load, round(_now(load)), wanted)

    def _ask_for(self, load: LoadSample, before: int, wanted: int) -> str:
        if load.rate is None and self._most is not None and wanted > self._most:
            return tr("more than {most} connections to a public address need --yes", most=self._most)
        self._wanted, self._seen = wanted, _now(load)
        if load.rate is not None:
            self._command(SetRate(float(wanted)))
            return tr("from {before} to {wanted} requests/s", before=before, wanted=wanted)
        self._command(SetConcurrency(wanted))
        return tr("from {before} to {wanted} connections", before=before, wanted=wanted)

    def restart(self, load: LoadSample | None) -> str:
        if load is None:
            return tr("there is no load to restart")
        if self._not_by_hand:
            return self._not_by_hand
        self._wanted = None
        self._command(RestartLoad())
        return tr("restarting the load")

    def next_step(self, load: LoadSample | None) -> str:
        if load is None or load.state.ended:
            return tr("no load is running")
        if self._owner != "command" and self._not_by_hand:
            return self._not_by_hand
        if load.step >= load.steps:
            if load.steps > 1:
                return tr("this is the last step")
            return tr("this load has no steps: set them with --steps 1,2,4")
        self._command(NextStep())
        return tr("step {step} of {steps} ends early", step=load.step, steps=load.steps)

    def stop(self, *, runs: bool) -> str:
        """``runs``: there is a load that can be stopped, or a command, also one that tells nothing of its load."""
        if not runs:
            return tr("no load is running")
        if self._owner == "plan":
            return self._not_by_hand
        self._command(StopLoad())
        return tr("stopping the load; still watching")
