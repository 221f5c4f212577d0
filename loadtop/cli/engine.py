"""The engine that was chosen, found on this machine and given the plan."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.load.plan import Plan, PlanError
from loadtop.load_options import UsageError

if TYPE_CHECKING:
    from loadtop.engine_options import EngineChoice
    from loadtop.engines.locust.settings import LocustSettings


def locust_settings(choice: "EngineChoice", plan: Plan) -> "LocustSettings":
    """What Locust is to run. Raises UsageError where it is not installed here or cannot do what the plan says."""
    from loadtop.engines.locust.settings import Generator, LocustSettings, check

    program = shutil.which("locust", path=str(Path(sys.executable).parent)) or shutil.which("locust")
    if program is None:
        raise UsageError("locust is not installed here: pip install 'loadtop[locust]' (or: pipx inject loadtop locust)")
    try:
        check(plan)
    except PlanError as error:
        raise UsageError(str(error)) from None
    generators = tuple(Generator(name, place) for name, place in choice.generators)
    return LocustSettings(plan, generators, program, choice.own)
