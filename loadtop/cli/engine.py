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
    from loadtop.engines.generator import Generator
    from loadtop.engines.locust.settings import LocustSettings, check

    program = shutil.which("locust", path=str(Path(sys.executable).parent)) or shutil.which("locust")
    if program is None:
        raise UsageError("locust is not installed here: pip install 'loadtop[locust]' (or: pipx inject loadtop locust)")
    check(plan)
    generators = tuple(Generator(name, place) for name, place in choice.generators)
    return LocustSettings(plan, generators, program, choice.own)


def jmeter_settings(choice: "EngineChoice", plan: Plan) -> "JmeterSettings":
    """What JMeter is to run. Raises UsageError where it is not installed here, PlanError where it cannot do that."""
    from loadtop.engines.generator import HERE, Generator
    from loadtop.engines.jmeter.own import data_files, read_own
    from loadtop.engines.jmeter.settings import JmeterSettings, check, check_even, part_of

    generators = tuple(Generator(name, place) for name, place in choice.generators)
    own = None if choice.file is None else read_own(choice.file)
    program = shutil.which("jmeter")
    if choice.servers or any(not generator.far for generator in generators):
        if program is None:
            raise UsageError("jmeter is not installed here: unpack Apache JMeter and put its bin directory on PATH")
        if shutil.which("java") is None:
            raise UsageError("jmeter needs Java, which is not on PATH here: install default-jre-headless, for example")
    machines = len(choice.servers or generators)
    if choice.servers:
        check_even(plan, machines)
        generators = (HERE,)
    if own is None:
        check(plan)
        for number in range(machines):
            check(part_of(plan, number, machines))
        return JmeterSettings(plan, generators, program or "jmeter", servers=choice.servers)
    if choice.counted and not own.threads:
        raise UsageError(
            f"{own.file} does not read the property threads, which -c and tune set: write ${{__P(threads,1)}} there"
        )
    if choice.counted:
        part_of(plan, 0, machines)
    near = next(data_files(own), None)
    if near is not None and (choice.servers or any(generator.far for generator in generators)):
        raise UsageError(f"{own.file} reads {near}: name it with its full path, and put it there on each generator")
    return JmeterSettings(plan, generators, program or "jmeter", own, choice.timed, choice.counted, choice.servers)
