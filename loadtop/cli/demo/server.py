"""The demo: a private server, and the load on it: headroom, then a full worker pool, then a full processor."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from msgspec import Struct

from loadtop.cli.demo.apache import ApacheInstallation, DemoApache, find_apache, service_user
from loadtop.cli.demo.pages import LIGHT
from loadtop.cli.demo.story import CORES, PHASES, WORKERS
from loadtop.cli.exit_codes import UnreachableError
from loadtop.engines.guarded_process import GuardedProcess
from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import child_environment

READY_S = 8.0
TERM_S = 1.5  # how long the server may take to end before it is killed


class DemoServer(Struct, frozen=True):
    """A server that runs until its ``process`` is closed (normally less than 2 s) or this process ends, even if that is
    killed. ``url`` ends in a slash; ``kind`` is ``Apache`` and its MPM, or ``embedded``."""

    url: str
    kind: str
    process: GuardedProcess

    @property
    def status_url(self) -> str:
        return f"{self.url}server-status"


async def start_server() -> DemoServer:
    """Start Apache if it is installed and works (tried twice: its port may be taken), else the embedded server, on a
    free loopback port. Return when it serves. Raises UnreachableError."""
    installation = None if os.environ.get("LOADTOP_DEMO_SERVER") == "embedded" else find_apache()
    for _ in range(0 if installation is None else 2):
        with contextlib.suppress(UnreachableError):
            return await _start(installation)
    return await _start(None)


async def _start(installation: ApacheInstallation | None) -> DemoServer:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    directory = Path(tempfile.mkdtemp(prefix="loadtop-demo-"))
    process = GuardedProcess()
    async with contextlib.AsyncExitStack() as undo:
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        undo.push_async_callback(process.close)
        if user := service_user():
            os.chown(directory, user.pw_uid, user.pw_gid)
        kind = "embedded"
        command = [sys.executable, "-P", "-m", "loadtop.cli.demo.embedded_server", str(port), str(WORKERS), str(CORES)]
        if installation is not None:
            apache = DemoApache(installation, directory, port, WORKERS)
            kind, command = f"Apache {apache.mpm}", apache.command()
        log = directory / "error.log"
        nothing, errors = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        files = (nothing, errors, errors)
        await process.start(command, files, environment=child_environment(), term_s=TERM_S, remove=directory)
        server = DemoServer(f"http://127.0.0.1:{port}/", kind, process)
        await _wait_until_it_serves(server, log)
        undo.pop_all()  # it serves: the caller ends it
    return server


async def _wait_until_it_serves(server: DemoServer, log: Path) -> None:
    """Return when a page that runs a program was served."""

    def fetch() -> None:
        with urllib.request.urlopen(server.url + LIGHT.name, timeout=2.0):  # noqa: S310 - our own URL
            pass

    deadline = time.monotonic() + READY_S
    problem = "does not respond"
    while time.monotonic() < deadline and not server.process.ended:
        try:
            return await asyncio.to_thread(fetch)
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"cannot run programs here ({error})"
            break
        except OSError as error:
            problem = f"does not respond ({error})"
        await asyncio.sleep(0.02)
    if server.process.ended:
        problem = "ended immediately"
    raise UnreachableError(f"the demo server did not start: {server.kind} {problem}: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return " / ".join(log.read_text(errors="replace").splitlines()[-3:]) or "its log is empty"


def demo_plan(server: DemoServer, seconds: float | None = None) -> Plan:
    """A step for each phase of the story. ``seconds`` is the time of all (by default that of ``LOADTOP_DEMO_SECONDS``,
    or 56 s)."""
    whole = sum(phase.seconds for phase in PHASES)
    scale = (seconds or float(os.environ.get("LOADTOP_DEMO_SECONDS") or whole)) / whole
    return Plan(
        targets=tuple(Target.parse(server.url + phase.page.name) for phase in PHASES),
        steps=tuple(
            Step(concurrency=phase.connections, duration_s=phase.seconds * scale, targets=(number,))
            for number, phase in enumerate(PHASES)
        ),
        timeout_s=20.0,
    )
