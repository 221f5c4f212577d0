"""The demo: a server of its own, and the load on it: headroom, then a full worker pool, then a full processor."""

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import loadtop
from loadtop.cli.demo.pages import BURN, LIGHT, WAIT
from loadtop.engines.guarded_process import GuardedProcess
from loadtop.generator.plan import Plan, Step, Target

START_S = 30.0
END_S = 2.0  # what the server may take to end before it is killed
_ROOT = str(Path(loadtop.__file__).resolve().parent.parent)
"""This copy of loadtop is imported, whatever is in the working directory, which ``-P`` leaves out."""

HEADROOM_S, POOL_S, CPU_S = 18.0, 18.0, 20.0


class DemoError(Exception):
    """The demo's server could not be started; the message says why."""


@dataclass(frozen=True, slots=True)
class DemoServer:
    """A server that runs until its ``supervisor`` is closed (normally less than 2 s) or this process ends, even if that
    is killed. ``url`` ends in a slash; ``kind`` is ``Apache`` and its MPM, or ``embedded``."""

    url: str
    status_url: str
    kind: str
    workers: int
    cores: int
    supervisor: GuardedProcess


async def start_server() -> DemoServer:
    """Start a server on a free loopback port and return when it serves; raises :class:`DemoError`."""
    supervisor = GuardedProcess()
    nothing, (output, stdout) = os.open(os.devnull, os.O_RDWR), os.pipe()
    async with contextlib.AsyncExitStack() as always, contextlib.AsyncExitStack() as on_failure:
        always.callback(os.close, output)
        on_failure.push_async_callback(supervisor.close)
        command = (sys.executable, "-P", "-m", "loadtop.cli.demo.supervisor")
        path = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        await supervisor.start(command, (nothing, stdout, nothing), environment=environment, term_s=END_S)
        try:
            answer = json.loads(await asyncio.wait_for(asyncio.to_thread(os.read, output, 65_536), START_S))
        except (TimeoutError, json.JSONDecodeError) as error:
            raise DemoError("the demo's server did not start: its supervisor printed nothing") from error
        if "error" in answer:
            raise DemoError(f"the demo's server did not start: {answer['error']}")
        on_failure.pop_all()
        return DemoServer(supervisor=supervisor, **answer)


def demo_plan(server: DemoServer, seconds: float | None = None) -> Plan:
    """Three steps: headroom, a full worker pool with an idle processor, a full processor. ``seconds`` is the time of
    all (by default that of ``LOADTOP_DEMO_SECONDS``, or 56 s)."""
    whole = HEADROOM_S + POOL_S + CPU_S
    scale = (seconds or float(os.environ.get("LOADTOP_DEMO_SECONDS") or whole)) / whole
    return Plan(
        targets=tuple(Target.parse(server.url + page.name) for page in (LIGHT, WAIT, BURN)),
        steps=(
            Step(concurrency=2, duration_s=HEADROOM_S * scale, targets=(0,)),
            Step(concurrency=2 * server.workers, duration_s=POOL_S * scale, targets=(1,)),
            Step(concurrency=3 * server.cores, duration_s=CPU_S * scale, targets=(2,)),
        ),
        timeout_s=20.0,
    )
