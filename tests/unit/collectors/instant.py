"""An event loop on which sleeping takes no time."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Words = TypeVarTuple("Words")


class _InstantSelector(selectors.SelectSelector):
    """Where an event loop would wait, its time jumps ahead instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits for something that will never come")
        self.now += max(0.0, timeout)
        return super().select(0)


class _InstantLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._instant = _InstantSelector()
        super().__init__(self._instant)

    def time(self) -> float:
        return self._instant.now

    def run_in_executor(
        self,
        executor: Executor | None,  # noqa: ARG002 - as a loop has it
        func: Callable[[*Words], Result],
        *args: *Words,
    ) -> asyncio.Future[Result]:
        """At once, as no time passes for another thread either."""
        done: asyncio.Future[Result] = self.create_future()
        done.set_result(func(*args))
        return done


def instantly(test: Callable[Parameters, Coroutine[Any, Any, Result]]) -> Callable[Parameters, Result]:
    """Run a coroutine function on a loop of its own, whose time passes only in sleep, and then at once."""

    @functools.wraps(test)
    def run(*arguments: Parameters.args, **fixtures: Parameters.kwargs) -> Result:
        with asyncio.Runner(loop_factory=_InstantLoop) as runner:
            return runner.run(test(*arguments, **fixtures))

    return run
