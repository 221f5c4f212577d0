"""Where marks come in from outside while a test runs: a named pipe of the test's own, a line a mark."""

import asyncio
import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from loadtop.recording.state import directory

SUFFIX = ".marks"

LONGEST = 400  # bytes of a mark that are kept; up to 4096 (PIPE_BUF) reach the pipe whole, whatever else writes to it


def folder() -> Path:
    """Where the pipes of running tests are: for their owner alone."""
    return directory() / "running"


def called(name: str) -> str:
    """A test's name as its pipe has it."""
    return "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)[:80]


class MarkPipe:
    """Made for the time of a test and removed after it. A test does not fail where none can be made."""

    def __init__(self, name: str) -> None:
        """``name`` identifies the test: the file name of the recording, or what is watched."""
        self._path = folder() / f"{os.getpid()}-{called(name)}{SUFFIX}"
        self._fd = -1
        self._rest = b""
        with contextlib.suppress(OSError):
            folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            running()  # removes the pipes of tests that were killed
            self._path.unlink(missing_ok=True)
            os.mkfifo(self._path, 0o600)
            # Opened for writing as well: it then never ends when the last writer goes.
            self._fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)

    def listen(self, mark: Callable[[str], None]) -> None:
        """From now on call ``mark`` with each line, in the running loop."""
        if self._fd >= 0:
            asyncio.get_running_loop().add_reader(self._fd, self._read, mark)

    def close(self) -> None:
        """Remove it. It can be called again."""
        if self._fd < 0:
            return
        with contextlib.suppress(RuntimeError):  # no loop runs any more
            asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        with contextlib.suppress(OSError):
            self._path.unlink()
            folder().rmdir()  # unless another test runs
            directory().rmdir()  # unless there are recordings

    def _read(self, mark: Callable[[str], None]) -> None:
        try:
            read = os.read(self._fd, 65536)
        except BlockingIOError:
            return
        *lines, rest = (self._rest + read).split(b"\n")
        self._rest = rest[-4096:]
        for line in lines:
            text = line[:LONGEST].decode("utf-8", "replace").strip()
            if text:
                mark(text)


class MarkError(Exception):
    """The mark reaches no test; the message says why."""


def running() -> list[Path]:
    """The pipes of tests that run, the one that began last at the end. Those of tests that were killed are removed."""
    found: list[tuple[int, Path]] = []
    for path in folder().glob(f"*{SUFFIX}"):
        try:
            status = path.lstat()
            if stat.S_ISFIFO(status.st_mode) and status.st_uid == os.getuid():
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                found.append((status.st_ctime_ns, path))
        except OSError as error:
            if error.errno == errno.ENXIO:  # no test reads it any more
                with contextlib.suppress(OSError):
                    path.unlink()
    return [path for _, path in sorted(found)]


def send(path: Path, text: str) -> None:
    """Write a mark to a test. Raises MarkError."""
    line = " ".join(text.split()).encode()[:LONGEST].decode("utf-8", "ignore").encode() + b"\n"
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(pipe, line)
        finally:
            os.close(pipe)
    except BlockingIOError:
        raise MarkError("the test is not reading marks: it hangs or is suspended") from None
    except OSError as error:
        raise MarkError(f"the test has ended ({error.strerror})") from None


def name_of(path: Path) -> str:
    """What a test is called: the name of its recording, without process id and suffix."""
    return path.name.removesuffix(SUFFIX).partition("-")[2]
