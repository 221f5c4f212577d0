"""A server of its own and a load on it, for a look at everything with nothing set up."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtop.cli.demo.plan import demo_plan
    from loadtop.cli.demo.server import DemoError, DemoTarget, start_target

__all__ = ["DemoError", "DemoTarget", "demo_plan", "start_target"]


def __getattr__(name: str) -> object:
    """Load what is asked for only then: the server's own processes, which live in here too, need none of it."""
    if name == "demo_plan":
        from loadtop.cli.demo.plan import demo_plan

        return demo_plan
    if name in __all__:
        from loadtop.cli.demo import server as target

        return getattr(target, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
