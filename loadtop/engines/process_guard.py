"""Runs one command and ends it, with all its descendants, when loadtop is gone: ``python -I -S process_guard.py``.

The first line on standard input is the request, as JSON: ``argv``, ``files`` (open files that become the command's
standard input, output and error), ``terminal`` (whether they are a terminal that it controls), ``environment``,
``term_s`` (seconds between SIGTERM and SIGKILL), ``silence_s``, ``remove`` (a directory to remove at the end),
``directory`` (where the command runs), and ``leaves`` (whether daemons, and what a command that succeeded left running,
stay).
Later lines are signal numbers for the command and its descendants; empty ones are heartbeats. Without any line for
``silence_s`` seconds, loadtop is suspended or hangs: the command is stopped until the next line.
Events are written as lines of JSON: ``group`` (before the command begins), ``pid``, then ``exit``; or ``problem``.

The end of standard input means that loadtop is gone, for any reason. All descendants are then ended, even those that
left the command's process group: on Linux the guard adopts them, elsewhere it finds them by their group.
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
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_S = 3.0  # how long killed processes are waited for (a process can be stuck)


def _ignore(_: int, __: FrameType | None) -> None:
    """A handler, so that the signal ends nothing."""


class Guard:
    """One command and its descendants."""

    def __init__(self) -> None:
        with os.fdopen(0, "rb", 0, closefd=False) as stdin:
            self._request = json.loads(stdin.readline())
        self._child = 0
        self._ended = self._stopped = self._succeeded = False
        self._heard = time.monotonic()

    def run(self) -> None:
        """Run the command until it ends or loadtop is gone, then end its remaining processes."""
        signals, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _ignore)  # the interpreter writes the number to the pipe
        if not self._start():
            return
        wanted, rest = True, b""
        while wanted and not self._ended:
            silent_at = self._heard + self._request["silence_s"]
            timeout = None if self._stopped else max(0.0, silent_at - time.monotonic())
            ready, _, _ = select.select([0, signals], [], [], timeout)
            if not ready:
                self._stopped = True
                self._signal(signal.SIGSTOP)
            if signals in ready:
                wanted = not (set(os.read(signals, 512)) & {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
            if 0 in ready:
                data = os.read(0, 4096)
                self._hear()
                *lines, rest = (rest + data).split(b"\n")
                for line in filter(None, lines):
                    self._signal(signal.Signals(int(line)))
                wanted = wanted and bool(data)
            self._reap()
        if not (self._succeeded and self._request["leaves"]):
            self._end_all()
        if self._request["remove"]:
            import shutil

            while os.read(0, 4096):  # loadtop may still read what is in there
                pass
            shutil.rmtree(self._request["remove"], ignore_errors=True)

    def _start(self) -> bool:
        if not self._request["leaves"]:
            _prctl(PR_SET_CHILD_SUBREAPER, 1)
        files: list[int] = self._request["files"]
        events = os.dup(1)

        def prepare() -> None:
            _report({"group": os.getpid()}, events)
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # if the guard is killed by force, the command ends with it
            if self._request["terminal"]:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            child = subprocess.Popen(
                self._request["argv"],
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
                env=self._request["environment"],
                cwd=self._request["directory"],
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - the guard has one thread
            )
        except OSError as error:
            _report({"problem": error.strerror or str(error)})
            return False
        finally:
            for number in {events, *files} - {0, 1, 2}:
                os.close(number)
        self._child = child.pid
        child.returncode = 0  # it is reaped below, with all adopted processes
        _report({"pid": self._child})
        return True

    def _reap(self) -> bool:
        """Reap processes that have ended; True while any are left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._child:
                self._ended, self._succeeded = True, not status
                _report({"exit": os.waitstatus_to_exitcode(status)})

    def _any_left(self) -> bool:
        """Whether there are children, or processes of the command's group that are not adopted."""
        if self._reap():
            return True
        try:
            os.killpg(self._child, 0)
        except OSError:
            return False
        return True

    def _hear(self) -> None:
        self._heard = time.monotonic()
        if self._stopped:
            self._stopped = False
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for pid in [-self._child, *_descendants(outside=self._child)]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _end_all(self) -> None:
        """SIGTERM, a pause, then SIGKILL until no process is left."""
        if not self._any_left():
            return
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)
        kill_at = time.monotonic() + self._request["term_s"]
        while self._any_left() and time.monotonic() < kill_at + KILL_S:
            if time.monotonic() >= kill_at:
                self._signal(signal.SIGKILL)
            time.sleep(0.01)


def _prctl(option: int, value: int) -> None:
    """Call Linux's prctl; elsewhere do nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def _descendants(outside: int) -> list[int]:
    """Return the descendants of the guard that are not in process group ``outside``; none if there is no /proc."""
    parents: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1]), int(fields[2])
    found = {os.getpid()}
    while new := {pid for pid, (parent, _) in parents.items() if parent in found} - found:
        found |= new
    return [pid for pid, (_, group) in parents.items() if pid in found and pid != os.getpid() and group != outside]


def _report(event: dict[str, Any], events: int = 1) -> None:
    with suppress(OSError):
        os.write(events, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    Guard().run()
