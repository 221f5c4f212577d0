"""A server program run in the foreground for one test: found, started, awaited, and surely stopped."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from msgspec import Struct

from loadtop.cli.demo.apache import SEARCH_PATH

READY_S = 60.0
STOP_S = 5.0


def find_program(*names: str, install: str) -> str:
    """The first of these programs that is installed; fails the test with ``install`` (what to type) where none is."""
    for name in names:
        found = shutil.which(name, path=SEARCH_PATH)
        if found:
            return found
    pytest.fail(f"this test needs {' or '.join(names)}, which is not installed: {install}", pytrace=False)


def free_port() -> int:
    """A TCP port that no one listens on at 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def server_directory(parent: str | None = None) -> Generator[Path]:
    """A short-lived directory that the servers' unprivileged users can enter (pytest's own they cannot)."""
    directory = Path(tempfile.mkdtemp(prefix="test-", dir=parent))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def beside(*programs: "subprocess.Popen[bytes]") -> Generator[None]:
    """Kill these programs at the end."""
    try:
        yield
    finally:
        for each in programs:
            each.kill()
            each.communicate()


def answers(port: int, address: str = "127.0.0.1") -> bool:
    """Whether something accepts TCP connections there."""
    try:
        with socket.create_connection((address, port), timeout=1.0):
            return True
    except OSError:
        return False


class Program:
    """A process in a session of its own. ``launcher`` is put before its command line and must end in ``exec``."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        self.name = Path(command[0]).name
        self.log = log
        # The kernel ends the server when the test process dies, however it dies.
        setpriv = shutil.which("setpriv", path=SEARCH_PATH)
        leash = [setpriv, "--pdeathsig", "TERM"] if setpriv else []
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*leash, *launcher, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "PATH": SEARCH_PATH, **(environment or {})},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_until(self, ready: Callable[[], bool], *logs: Path) -> None:
        """Return when ``ready()``; fails the test, with the logs' ends, when the server ends or takes too long."""
        deadline = time.monotonic() + READY_S
        while not ready():
            ended = self.process.poll()
            if ended is not None or time.monotonic() > deadline:
                what = f"ended with {ended}" if ended is not None else f"does not answer after {READY_S:.0f} s"
                ends = "\n".join(log.read_text(errors="replace")[-2000:] for log in (self.log, *logs) if log.exists())
                self.kill()
                pytest.fail(f"{self.name} {what}:\n{ends}", pytrace=False)
            time.sleep(0.02)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it in an orderly way; what is left of its session after 5 s is killed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to every process of its session; returns when all are gone (or 20 s later)."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + 20.0
        while self.members() and time.monotonic() < deadline:
            time.sleep(0.05)

    def members(self) -> list[int]:
        """The living processes of its session."""
        found = subprocess.run(["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, text=True).stdout
        rows = [line.split() for line in found.splitlines()]
        group = str(self.process.pid)
        return [int(pid) for pid, of, state in rows if of == group and not state.startswith("Z")]


class Server(Struct, frozen=True):
    """A server that a test started. ``pid`` is the process that starts the others and may serve nothing itself."""

    program: Program

    @property
    def pid(self) -> int:
        return self.program.pid

    def stop(self) -> None:
        self.program.stop()

    def kill(self) -> None:
        """SIGKILL to it and every worker."""
        self.program.kill()
