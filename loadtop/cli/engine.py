"""The engine that was chosen, found on this machine and given the plan."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import UsageError
from loadtop.generator.plan import Plan, PlanError
from loadtop.pipeline.monitor import LoadSource

if TYPE_CHECKING:
    from loadtop.cli.options.engine import EngineChoice
    from loadtop.engines.jmeter.settings import JmeterSettings
    from loadtop.engines.locust.settings import LocustSettings


def engine_load(choice: "EngineChoice", plan: Plan, *, tuned: bool = False) -> Callable[[], LoadSource]:
    """What makes a load of another engine than ours; ``tuned``: its concurrency is changed while it runs.

    Raises UsageError, before anything runs, where the engine is not installed here or cannot do what the plan says.
    """
    try:
        if choice.name == "locust":
            from loadtop.engines.locust.load import LocustLoad

            return partial(LocustLoad, locust_settings(choice, plan))
        from loadtop.engines.jmeter.load import JmeterLoad

        if tuned:
            if choice.servers:
                raise UsageError("tune is not possible with -R: give the machines with --generator instead")
            choice = replace(choice, counted=True, timed=False)
        settings = jmeter_settings(choice, plan)
        return partial(JmeterLoad, settings)
    except PlanError as error:
        raise UsageError(str(error)) from None


def locust_settings(choice: "EngineChoice", plan: Plan) -> "LocustSettings":
    """What Locust is to run. Raises UsageError where it is not installed here, PlanError where it cannot do that."""
    from loadtop.engines.locust.settings import LocustSettings, check
    from loadtop.engines.settings import Machine

    program = shutil.which("locust", path=str(Path(sys.executable).parent)) or shutil.which("locust")
    if program is None:
        raise UsageError("locust is not installed here: pip install 'loadtop[locust]' (or: pipx inject loadtop locust)")
    check(plan)
    machines = tuple(Machine(name, place) for name, place in choice.generators)
    return LocustSettings(plan, machines, program, choice.own)


def jmeter_settings(choice: "EngineChoice", plan: Plan) -> "JmeterSettings":
    """What JMeter is to run. Raises UsageError where it is not installed here, PlanError where it cannot do that."""
    from loadtop.engines.jmeter.settings import JmeterSettings, check, check_even, share_of
    from loadtop.engines.jmeter.user_plan import read_user_plan
    from loadtop.engines.settings import LOCAL, Machine

    machines = tuple(Machine(name, place) for name, place in choice.generators)
    user_plan = None if choice.file is None else read_user_plan(choice.file)
    program = shutil.which("jmeter")
    if choice.servers or any(not machine.remote for machine in machines):
        if program is None:
            raise UsageError("jmeter is not installed here: unpack Apache JMeter and put its bin directory on PATH")
        if shutil.which("java") is None:
            raise UsageError("jmeter needs Java, which is not on PATH here: install default-jre-headless, for example")
    count = len(choice.servers or machines)
    if choice.servers:
        check_even(plan, count)
        machines = (LOCAL,)
    if user_plan is None:
        check(plan)
        for number in range(count):
            check(share_of(plan, number, count))
        return JmeterSettings(plan, machines, program or "jmeter", servers=choice.servers)
    if choice.counted and not user_plan.threads:
        raise UsageError(
            f"{user_plan.file} does not read the property threads, which -c and tune set: "
            "write ${__P(threads,1)} there"
        )
    if choice.counted:
        share_of(plan, 0, count)
    data_file = next(user_plan.data_files(), None)
    if data_file is not None and (choice.servers or any(machine.remote for machine in machines)):
        raise UsageError(
            f"{user_plan.file} reads {data_file}: name it with its full path, and put it there on each generator"
        )
    return JmeterSettings(plan, machines, program or "jmeter", user_plan, choice.timed, choice.counted, choice.servers)
