"""The demo's server, as the program that shows it sees it."""

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import loadtop

START_S = 30.0
CLOSE_S = 4.0


class DemoError(Exception):
    """The demo's server could not be started; the message says why."""


@dataclass(frozen=True, slots=True)
class DemoTarget:
    """A server that runs for this demo only, until :meth:`close` or the end of this process, however it comes.

    ``url`` ends in a slash. ``kind`` is ``Apache prefork`` (or another MPM), or ``embedded`` for loadtop's own server.
    ``workers`` are its worker slots, ``cores`` those of the machine.
    """

    url: str
    status_url: str
    kind: str
    workers: int
    cores: int
    keeper: Process

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exit: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the server and wait until it is gone (less than 2 s where Apache is in good health)."""
        if self.keeper.stdin is not None:
            self.keeper.stdin.close()
        try:
            await asyncio.wait_for(self.keeper.wait(), CLOSE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.keeper.kill()
            await self.keeper.wait()


async def start_target() -> DemoTarget:
    """Start a server on a free loopback port and return when it serves; raises :class:`DemoError`."""
    async with contextlib.AsyncExitStack() as on_failure:
        keeper = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "loadtop.cli.demo.supervisor",
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True, env=_environment(),
        )  # fmt: skip
        on_failure.push_async_callback(_end, keeper)
        try:
            said = json.loads(await asyncio.wait_for(_first_line(keeper), START_S))
        except (TimeoutError, json.JSONDecodeError) as error:
            raise DemoError("the demo's server does not start: its keeper said nothing") from error
        if "error" in said:
            raise DemoError(f"the demo's server does not start: {said['error']}")
        on_failure.pop_all()
        return DemoTarget(
            keeper=keeper, **{name: said[name] for name in ("url", "status_url", "kind", "workers", "cores")}
        )


def _environment() -> dict[str, str]:
    """This very package goes first, whatever lies in the working directory (which -P leaves out)."""
    root = str(Path(loadtop.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


async def _first_line(process: Process) -> bytes:
    return b"" if process.stdout is None else await process.stdout.readline()


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await process.wait()
