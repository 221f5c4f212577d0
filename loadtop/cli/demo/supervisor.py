"""Starts the demo's server, prints where it is, and ends it: ``python -m loadtop.cli.demo.supervisor``.

Prints one line of JSON: what was started, or why nothing was. Ends the server and removes its files at SIGTERM, SIGINT
or SIGHUP. The guard under which it runs sends that, and ends what is left then.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from loadtop.cli.demo.apache import ApacheInstallation, DemoApache, find_apache, service_user
from loadtop.cli.demo.pages import LIGHT

READY_S = 8.0
TERM_S = 1.5
CORES = os.cpu_count() or 1
WORKERS = max(8, 4 * CORES)  # few enough that waiting pages fill them; enough that computing pages use every core first


class StartError(Exception):
    """A server did not start, or does not serve; the message says why."""


@dataclass(frozen=True, slots=True)
class Server:
    """A started server process, leader of its own process group."""

    process: subprocess.Popen[bytes]
    url: str
    kind: str

    def wait_until_it_serves(self, log: Path) -> None:
        """Return when a page that runs a program was served. Raises StartError."""
        deadline = time.monotonic() + READY_S
        problem = "no answer"
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise StartError(f"{self.kind} ended at once: {_end_of(log)}")
            try:
                with urllib.request.urlopen(f"{self.url}/{LIGHT.name}", timeout=2.0):  # noqa: S310 - our own URL
                    return
            except urllib.error.HTTPError as error:
                raise StartError(f"{self.kind} cannot run programs here ({error}): {_end_of(log)}") from error
            except OSError as error:
                problem = str(error)
            time.sleep(0.02)
        raise StartError(f"{self.kind} does not serve: {problem}; {_end_of(log)}")

    def end(self) -> None:
        """End the whole process group: TERM first, KILL 1.5 s later."""
        for number, patience in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, TERM_S)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)  # programs that outlived the server they worked for


def main() -> int:
    _handle_signals(_leave)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="loadtop-demo-", ignore_cleanup_errors=True) as name,
            contextlib.ExitStack() as servers,
        ):
            servers.callback(_handle_signals, signal.SIG_IGN)  # while the directory is removed
            if user := service_user():
                os.chown(name, user.pw_uid, user.pw_gid)
            _announce(_start(Path(name), servers))
            signal.pause()
    except StartError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    return 0


def _leave(_number: int, _frame: FrameType | None) -> None:
    _handle_signals(signal.SIG_IGN)
    raise SystemExit(0)


def _handle_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handler)


def _start(directory: Path, servers: contextlib.ExitStack) -> Server:
    """Start Apache if it is installed and works (tried twice: its port may be taken), else the embedded server."""
    installation = None if os.environ.get("LOADTOP_DEMO_SERVER") == "embedded" else find_apache()
    for _ in range(0 if installation is None else 2):
        server = _launch(directory, servers, installation)
        with contextlib.suppress(StartError):
            server.wait_until_it_serves(directory / "error.log")
            return server
        server.end()
    server = _launch(directory, servers, None)
    server.wait_until_it_serves(directory / "error.log")
    return server


def _launch(directory: Path, servers: contextlib.ExitStack, installation: ApacheInstallation | None) -> Server:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    if installation is None:
        kind = "embedded"
        command = [sys.executable, "-P", "-m", "loadtop.cli.demo.embedded_server", str(port), str(WORKERS), str(CORES)]
    else:
        apache = DemoApache(installation, directory, port, WORKERS)
        kind = f"Apache {apache.mpm}"
        command = apache.command()
    with (directory / "error.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    server = Server(process, f"http://127.0.0.1:{port}", kind)
    servers.callback(server.end)
    return server


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " / ".join(lines[-3:]) or "its log is empty"


def _announce(server: Server) -> None:
    line = {
        "kind": server.kind,
        "url": f"{server.url}/",
        "status_url": f"{server.url}/server-status",
        "workers": WORKERS,
        "cores": CORES,
    }
    with contextlib.suppress(BrokenPipeError):  # the reader is gone: the guard ends this soon
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
