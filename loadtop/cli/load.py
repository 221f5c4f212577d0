"""The load that was asked for: the built-in one, another engine's, or the demo's with a server of its own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import UnreachableError, UsageError
from loadtop.cli.options.command_line import Options
from loadtop.cli.outputs import tell
from loadtop.pipeline.monitor import LoadSource

if TYPE_CHECKING:
    from loadtop.generator.plan import Plan
    from loadtop.generator.request_log import RequestLogFiles


@dataclass(frozen=True, slots=True)
class ChosenLoad:
    """A load that can be run. ``plan`` is what it asks of which server, as far as that is known; ``status_url`` the
    status page of a server that was started for it, which ``close`` stops again."""

    source: LoadSource | None
    plan: "Plan | None" = None
    status_url: str | None = None
    close: Callable[[], Awaitable[None]] | None = None


async def choose_load(options: Options, request_logs: "RequestLogFiles | None") -> ChosenLoad:
    """The load of ``loadtop URL``, ``loadtop demo`` (its server runs then) or none (``loadtop watch``).

    Raises UnreachableError where the demo's server does not start, UsageError where no URL was given.
    """
    if options.command == "watch":
        return ChosenLoad(None)
    if options.command == "demo":
        return await _demo()
    plan = options.plan
    if plan is None:
        raise UsageError("no URL given: for example loadtop http://127.0.0.1/ (see loadtop --help)")
    from loadtop.generator.restart import RestartableLoad

    if options.engine.name != "builtin":
        from loadtop.cli.engine import engine_load

        return ChosenLoad(RestartableLoad(engine_load(options.engine, plan)), plan)
    from loadtop.generator.pool import LoadPool

    make = partial(LoadPool, plan, request_logs=request_logs, print_text=partial(tell, options.output))
    return ChosenLoad(RestartableLoad(make), plan)


async def _demo() -> ChosenLoad:
    from loadtop.cli.demo import demo_plan, start_target
    from loadtop.cli.demo.server import DemoError
    from loadtop.generator.pool import LoadPool
    from loadtop.generator.restart import RestartableLoad

    try:
        target = await start_target()
    except DemoError as error:
        raise UnreachableError(str(error)) from None
    plan = demo_plan(target)
    return ChosenLoad(RestartableLoad(lambda: LoadPool(plan)), plan, target.status_url, target.close)
