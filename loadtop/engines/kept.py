"""A process that cannot outlive us: it runs under a keeper (:mod:`loadtop.engines.keeper`)."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_KEEPER = str(Path(__file__).with_name("keeper.py"))
_PATIENCE_S = 4.0
"""How long a keeper may take to end everything, beyond its patience, before it is killed itself."""


class KeptProcess:
    """One command. ``pid`` is known once :meth:`start` has returned, unless ``problem`` says why it could not start.

    ``exit_code`` is that of the command, negative for the signal that ended it; ``None`` while it runs.
    """

    def __init__(self) -> None:
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.problem = ""
        self._patience_s = _PATIENCE_S
        self._keeper: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether the command has ended or could not be started."""
        return self._ended.is_set()

    async def start(
        self,
        argv: Sequence[str],
        files: tuple[int, int, int],
        *,
        terminal: bool = False,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        patience_s: float = 1.0,
    ) -> None:
        """Run ``argv`` with these open files as its input, output and error. The files stay open here. At the end it
        has ``patience_s`` between SIGTERM and SIGKILL."""
        self._patience_s = _PATIENCE_S + patience_s
        wanted = {
            "argv": list(argv),
            "files": list(files),
            "terminal": terminal,
            "environment": None if environment is None else dict(environment),
            "directory": directory,
            "patience_s": patience_s,
        }
        self._keeper = await asyncio.create_subprocess_exec(
            *[sys.executable, "-I", "-S", _KEEPER],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=tuple(set(files)),
            start_new_session=True,  # Ctrl-C is for us, who decide what becomes of the command
        )
        self._write(json.dumps(wanted))
        self._listening = asyncio.create_task(self._listen(self._keeper), name=f"keeper of {argv[0]}")
        await self._begun.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command and everything that descends from it."""
        if not self.ended:
            self._write(str(int(number)))

    async def wait(self) -> None:
        """Return when the command has ended; what it left behind may take a moment longer to end."""
        await self._ended.wait()

    async def close(self) -> None:
        """End the command and everything that descends from it, and wait until it is gone."""
        keeper = self._keeper
        if keeper is None:
            return
        if keeper.stdin is not None:
            keeper.stdin.close()
        try:
            await asyncio.wait_for(keeper.wait(), self._patience_s)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                keeper.kill()
            await keeper.wait()
        if self._listening is not None:
            await asyncio.gather(self._listening, return_exceptions=True)

    def _write(self, line: str) -> None:
        keeper = self._keeper
        if keeper is not None and keeper.stdin is not None and keeper.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                keeper.stdin.write(line.encode() + b"\n")

    async def _listen(self, keeper: asyncio.subprocess.Process) -> None:
        while keeper.stdout is not None and (line := await keeper.stdout.readline()):
            event = json.loads(line)
            self.pid = event.get("pid", self.pid)
            self.exit_code = event.get("exit", self.exit_code)
            self.problem = event.get("problem", self.problem)
            self._begun.set()
            if "exit" in event or self.problem:
                self._ended.set()
        if not self.ended:
            self.problem = self.problem or "its keeper ended unexpectedly"
            if self.pid is not None:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
        self._begun.set()
        self._ended.set()
