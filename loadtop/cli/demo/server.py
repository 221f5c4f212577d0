"""The demo: a server of its own, and the load on it: headroom, then a full worker pool, then a full processor."""

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
from loadtop.cli.demo.pages import BURN, LIGHT, WAIT
from loadtop.generator.plan import Plan, Step, Target

START_S = 30.0
CLOSE_S = 4.0

HEADROOM_S, POOL_S, CPU_S = 18.0, 18.0, 20.0
SECONDS_VARIABLE = "LOADTOP_DEMO_SECONDS"
LIGHT_CONNECTIONS = 2


class DemoError(Exception):
    """The demo's server could not be started; the message says why."""


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A server that runs until :meth:`close` or the end of this process, even if that is killed. ``url`` ends in a
    slash; ``kind`` is ``Apache`` and its MPM, or ``embedded``."""

    url: str
    status_url: str
    kind: str
    workers: int
    cores: int
    supervisor: Process

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exit: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the server and wait until it is gone (normally less than 2 s)."""
        if self.supervisor.stdin is not None:
            self.supervisor.stdin.close()
        try:
            await asyncio.wait_for(self.supervisor.wait(), CLOSE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.supervisor.kill()
            await self.supervisor.wait()


async def start_server() -> DemoServer:
    """Start a server on a free loopback port and return when it serves; raises :class:`DemoError`."""
    async with contextlib.AsyncExitStack() as on_failure:
        supervisor = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "loadtop.cli.demo.supervisor",
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True, env=_environment(),
        )  # fmt: skip
        on_failure.push_async_callback(_end, supervisor)
        try:
            answer = json.loads(await asyncio.wait_for(_first_line(supervisor), START_S))
        except (TimeoutError, json.JSONDecodeError) as error:
            raise DemoError("the demo's server did not start: its supervisor printed nothing") from error
        if "error" in answer:
            raise DemoError(f"the demo's server did not start: {answer['error']}")
        on_failure.pop_all()
        return DemoServer(
            supervisor=supervisor, **{name: answer[name] for name in ("url", "status_url", "kind", "workers", "cores")}
        )


def _environment() -> dict[str, str]:
    """Import this copy of loadtop, whatever is in the working directory (which -P leaves out)."""
    root = str(Path(loadtop.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])}


async def _first_line(process: Process) -> bytes:
    return b"" if process.stdout is None else await process.stdout.readline()


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    await process.wait()


def demo_plan(server: DemoServer, seconds: float | None = None) -> Plan:
    """Three steps: headroom, a full worker pool with an idle processor, a full processor. ``seconds`` is the time of
    all (by default that of ``LOADTOP_DEMO_SECONDS``, or 56 s)."""
    whole = HEADROOM_S + POOL_S + CPU_S
    scale = (seconds or float(os.environ.get(SECONDS_VARIABLE) or whole)) / whole
    return Plan(
        targets=tuple(Target.parse(server.url + page.name) for page in (LIGHT, WAIT, BURN)),
        steps=(
            Step(concurrency=LIGHT_CONNECTIONS, duration_s=HEADROOM_S * scale, targets=(0,)),
            Step(concurrency=2 * server.workers, duration_s=POOL_S * scale, targets=(1,)),
            Step(concurrency=3 * server.cores, duration_s=CPU_S * scale, targets=(2,)),
        ),
        timeout_s=20.0,
    )
