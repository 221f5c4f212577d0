"""The load that was asked for: the built-in one, another engine's, a command's, or the demo's."""

import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from loadtop.cli.display import with_screen
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.table import Options
from loadtop.generator.plan import PlanError
from loadtop.model.secrets import BLANK, without_secrets
from loadtop.pipeline.monitor import LoadSource

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from loadtop.engines.engine import Machine
    from loadtop.generator.plan import Plan

_CREDENTIALS = re.compile(r"[^\s/:=]+:(?!\d+$)[^\s/].*")
_HEADER = re.compile(r"(?P<name>[\w-]+):\s.*")
_OPTION = re.compile(r"-{1,2}[A-Za-z]")


class Load(Struct, frozen=True):
    """A load that can be run: none if ``source`` is None. ``plan`` says what it requests, as far as that is known;
    ``status_url`` is the status page of a server that was started for it, which ``close`` stops."""

    source: LoadSource | None = None
    plan: "Plan | None" = None
    status_url: str | None = None
    close: Callable[[], Awaitable[None]] | None = None

    @property
    def url(self) -> str | None:
        return None if self.plan is None else self.plan.targets[0].url

    async def prepared(self) -> "Load":
        """The load itself, for where another one is still to be prepared."""
        return self


def load_maker(options: Options, request_logs: list[BinaryIO] | None = None) -> Callable[[], LoadSource]:
    """What makes the load of ``run`` or ``tune``. Imports only what the first screen needs. Raises UsageError if its
    engine is not installed or cannot do what the plan says."""
    if options.engine != "builtin":
        from loadtop.engines.engine import Machine

        machines = tuple(starmap(Machine, options.generators))
        try:
            return _locust(options, machines) if options.engine == "locust" else _jmeter(options, machines)
        except PlanError as error:
            raise UsageError(error.message) from None

    def builtin() -> LoadSource:
        from loadtop.generator.pool import LoadPool

        print_text = partial(print, end="", file=sys.stderr if options.json == "-" else sys.stdout, flush=True)
        return LoadPool(options.plan, request_logs=request_logs, print_text=print_text)

    return builtin


async def demo_load(seconds: float | None = None) -> Load:
    """Start the demo's server, and the load on it, of that length or the usual one.

    Raises UnreachableError if the server does not start.
    """
    from loadtop.cli.demo.server import demo_plan, start_server
    from loadtop.generator.pool import LoadPool
    from loadtop.generator.restart import RestartableLoad

    server = await start_server()
    plan = demo_plan(server, seconds)
    return Load(RestartableLoad(lambda: LoadPool(plan)), plan, server.status_url, server.process.close)


def command_load(options: Options) -> "CommandLoad":
    """The command of ``watch`` as a load. Raises UsageError if there is no such program."""
    from loadtop.engines.command import CommandLoad

    name = options.program[0]
    if shutil.which(name) is None:
        path = Path(name)
        if "/" not in name:
            raise UsageError(f"{name} not found on PATH. Install it, or use its path after --.")
        if path.is_dir() or not path.exists():
            raise UsageError(f"cannot find {name}. Check the path after --.")
        raise UsageError(f"{name} is not executable: chmod +x it, or name its interpreter, as in -- sh {name}")
    plan = _plan_of_command(options.program)
    if with_screen(options):
        return CommandLoad(options.program, plan=plan)
    # Standard output is for the JSON summary alone.
    return CommandLoad(options.program, (2 if options.json == "-" else 1, 2), plan=plan)


def _plan_of_command(words: Sequence[str]) -> "Plan | None":
    """What the command seems to load: the first URL among its words. For the roles of hosts and status pages only."""
    from loadtop.generator.plan import Plan, Step, Target

    for word in words:
        if word.startswith(("http://", "https://")):
            with suppress(PlanError):
                return Plan((Target.parse(word),), (Step(concurrency=1),))
    return None


def safe_words(options: Options, words: Sequence[str]) -> list[str]:
    """``options.words`` or ``options.argv`` without secrets. After ``--``, where the options are unknown, text that
    looks like credentials or header values is removed too."""
    own = len(words) - len(options.program)
    return without_secrets([*words[:own], *map(_without_credentials, words[own:])])


def _without_credentials(word: str) -> str:
    if "://" in word or _OPTION.match(word):
        return word
    if header := _HEADER.fullmatch(word):
        return f"{header['name']}: {BLANK}"
    return BLANK if _CREDENTIALS.fullmatch(word) else word


def _locust(options: Options, machines: "tuple[Machine, ...]") -> Callable[[], LoadSource]:
    from loadtop.engines.locust.load import LocustLoad, check

    program = shutil.which("locust", path=str(Path(sys.executable).parent)) or shutil.which("locust")
    if program is None:
        raise UsageError("Locust is not installed on this machine: pipx inject loadtop locust")
    check(options.plan)
    return partial(LocustLoad, options.plan, machines, program, options.locustfile)


def _jmeter(options: Options, machines: "tuple[Machine, ...]") -> Callable[[], LoadSource]:
    from loadtop.engines.engine import LOCAL
    from loadtop.engines.jmeter.load import JmeterLoad
    from loadtop.engines.jmeter.plan import JmeterSettings, check, check_even, read_user_plan, share_of

    plan, servers, tuned = options.plan, options.servers, options.command == "tune"
    user_plan = None if options.user_plan is None else read_user_plan(options.user_plan)
    program = shutil.which("jmeter")
    if servers or any(not machine.remote for machine in machines):
        if program is None:
            raise UsageError(
                "JMeter is not installed on this machine: unpack Apache JMeter and put its bin directory on PATH"
            )
        if shutil.which("java") is None:
            raise UsageError(
                "JMeter needs Java, which is not on this machine's PATH: install default-jre-headless, for example"
            )
    count = len(servers or machines)
    if servers:
        check_even(plan, count)
        machines = (LOCAL,)
    if user_plan is None:
        check(plan)
        for number in range(count):
            check(share_of(plan, number, count))
        return partial(JmeterLoad, JmeterSettings(plan, machines, program or "jmeter", servers=servers))
    counted = tuned or options.concurrency is not None
    if counted and not user_plan.threads:
        set_by = "which -c and tune set: use ${__P(threads,1)} as its number of threads"
        raise UsageError(f"{user_plan.file} does not read the property `threads`, {set_by}")
    if counted:
        share_of(plan, 0, count)
    data_file = next(user_plan.data_files(), None)
    if data_file is not None and (servers or any(machine.remote for machine in machines)):
        fix = "use its full path in the plan, and copy it to that path on each generator machine"
        raise UsageError(f"{user_plan.file} reads {data_file}: {fix}")
    timed = options.time is not None and not tuned
    return partial(JmeterLoad, JmeterSettings(plan, machines, program or "jmeter", user_plan, timed, counted, servers))
