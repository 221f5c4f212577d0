"""Runs one command and takes it along when it ends: a program of its own, ``python -I -S keeper.py``.

The first line on standard input says what to run, as JSON: ``argv``, ``files`` (numbers of open files that become the
command's standard input, output and error), ``terminal`` (whether they are a terminal that it is to control),
``environment``, ``directory``, and ``patience_s``. Later lines are signal numbers for everything that descends from
the command. Events go out as lines of JSON: ``pid``, then ``exit``; or ``problem``, with ``errno``.

When standard input ends, whoever started the keeper is gone, however that went: all descendants are then ended, those
included that left the command's process group. On Linux they are found by being adopted; elsewhere by their group.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TRIES = 300
"""How often, every 10 ms, what was killed is looked for before the keeper gives up on it (a process can be stuck)."""


def main() -> None:
    """Run what the first line says until it ends or nobody wants it any more."""
    with os.fdopen(0, "rb", 0, closefd=False) as commands:
        wanted = json.loads(commands.readline())
    Keeper(wanted).run()


class Keeper:
    """One command and its descendants."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._wanted = wanted
        self._child = 0
        self._ended = False
        self._buffer = b""

    def run(self) -> None:
        """Run the command to its end, and end what is left of it."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)
        if not self._start():
            return
        wanted = True
        while wanted and not self._ended:
            ready, _, _ = select.select([0, woken], [], [])
            if woken in ready:
                wanted = not (set(os.read(woken, 512)) & {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
            if 0 in ready:
                wanted = self._listen() and wanted
            self._reap()
        self._end_all()

    def _note(self, number: int, frame: object) -> None:
        """The number is written to the wake-up pipe by the interpreter itself."""

    def _start(self) -> bool:
        prctl = _prctl()
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        terminal: bool = self._wanted["terminal"]
        files: list[int] = self._wanted["files"]

        def prepare() -> None:
            # Where the keeper is killed by force, the command goes with it.
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            child = subprocess.Popen(
                self._wanted["argv"],
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
                env=self._wanted["environment"],
                cwd=self._wanted["directory"],
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - the keeper has one thread
            )
        except OSError as error:
            _say({"problem": error.strerror or str(error), "errno": error.errno})
            return False
        finally:
            for number in set(files) - {0, 1, 2}:
                os.close(number)
        self._child = child.pid
        child.returncode = 0  # it is reaped below, with all that is adopted
        _say({"pid": self._child})
        return True

    def _listen(self) -> bool:
        """Obey; False when there is nobody any more who could say something."""
        data = os.read(0, 4096)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._signal(signal.Signals(int(line)))
        return bool(data)

    def _reap(self) -> bool:
        """Collect what has ended; True while there is something that lives."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._child:
                self._ended = True
                _say({"exit": os.waitstatus_to_exitcode(status)})

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child, number)
        for pid, group in _descendants():
            if group != self._child:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _end_all(self) -> None:
        """SIGTERM, some patience, SIGKILL: until nothing is left."""
        if not self._reap():
            return
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        if self._gone(lambda: None, self._wanted["patience_s"]):
            return
        self._gone(lambda: self._signal(signal.SIGKILL), TRIES / 100)

    def _gone(self, each: Callable[[], None], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            each()
            if not self._reap():
                return True
            time.sleep(0.01)
        return False


def _prctl() -> Callable[[int, int], object]:
    """Linux's prctl; elsewhere something that does nothing."""
    if sys.platform != "linux":
        return lambda _option, _value: None
    libc = ctypes.CDLL(None)
    return lambda option, value: libc.prctl(option, int(value), 0, 0, 0)


def _descendants() -> list[tuple[int, int]]:
    """Process and group of everything that descends from the keeper; empty where there is no /proc."""
    parents: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(words[1]), int(words[2])
    found = {os.getpid()}
    more = True
    while more:
        new = {pid for pid, (parent, _) in parents.items() if parent in found and pid not in found}
        found |= new
        more = bool(new)
    return [(pid, parents[pid][1]) for pid in found if pid in parents and pid != os.getpid()]


def _say(event: dict[str, Any]) -> None:
    with suppress(OSError):
        os.write(1, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main()
