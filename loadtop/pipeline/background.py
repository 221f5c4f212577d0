"""Tasks that are not awaited: an exception that ends one goes to the event loop's exception handler, not nowhere.

The handler of the process decides what that means: the monitor ends the load with a problem, a worker exits. Exceptions
of callbacks and of protocols reach the same handler.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import PurePath
from traceback import walk_tb
from typing import Any

from loadtop.i18n import Message, verbatim

MAX_ERROR_TEXT = 300  # characters of an exception's own text that are shown


def background(work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
    """Start ``work`` as a task. Cancelling it is not reported."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    task.add_done_callback(_pass_on)
    return task


def _pass_on(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        context = {"message": f"{task.get_name()} stopped unexpectedly", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)


def mistake(context: Mapping[str, Any]) -> BaseException | None:
    """Return the exception that an exception handler got if it is one of our own code: of a callback, of a protocol, or
    of a task that :func:`background` started. A network error that a transport reports is not a mistake, nor is a
    future that nobody awaits."""
    error: BaseException | None = context.get("exception")
    ours = "handle" in context or "task" in context or ("protocol" in context and not isinstance(error, OSError))
    return error if ours else None


def described(error: BaseException) -> Message:
    """Return what to say about a mistake of ours, with the place where it happened."""
    where = None
    for frame, line in walk_tb(error.__traceback__):  # the innermost comes last
        where = Message(" ({file}:{line:d})", file=PurePath(frame.f_code.co_filename).name, line=line)
    text = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_ERROR_TEXT]
    return Message("an error in loadtop itself ended the load: {error}{where}", error=verbatim(text), where=where)
