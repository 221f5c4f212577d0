"""Loads for the lab: ab's, to prove what the limit is, and loadtop's own, to hear what it says."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from msgspec import Struct

from tests.lab.keeping import keep_small
from tests.servers.program import find_program

VERDICT = re.compile(r"^ +[\d,.]+ s  .*  ([A-Z][A-Z-]+)(?: (?:(?!  ).)*)?$")  # an interval's last field: the limit
RATE = re.compile(r"^Requests per second: +([\d.]+)", re.MULTILINE)
GRACE_S = 30.0


class Span(Struct, frozen=True):
    """When a load began and ended, on the monotonic clock."""

    began: float
    ended: float


class Run(Struct, frozen=True):
    """What loadtop said: its summary, and the verdict of each line with the moment it was printed (monotonic)."""

    span: Span
    summary: dict[str, Any]
    verdicts: list[tuple[float, str]]
    first_line: float = 0.0

    @property
    def bottleneck(self) -> str:
        return str(self.summary["verdict"]["bottleneck"])

    @property
    def advice(self) -> str:
        return str(self.summary["verdict"]["advice"])

    def seconds_to(self, bottleneck: str) -> float | None:
        """From the first line, which is printed when the load begins, to the first that names it."""
        said = self.said_at(bottleneck)
        return None if said is None else said - self.first_line

    def said_at(self, bottleneck: str) -> float | None:
        """When this verdict was first printed."""
        return next((at for at, said in self.verdicts if said == bottleneck), None)


def _ab(launcher: Sequence[str], *options: str, concurrency: int, seconds: int) -> subprocess.CompletedProcess[str]:
    """ab's closed load. Its ``-t`` sets 50,000 requests as well, which only a later ``-n`` changes."""
    ab = find_program("ab", install="apt-get install apache2-utils")
    command = [*launcher, ab, "-q", "-l", "-c", str(concurrency), "-t", str(seconds), "-n", "1000000", *options]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + GRACE_S)


def run_ab(url: str, *, concurrency: int, seconds: int) -> Span:
    """ab's closed load for that time; fails the test where ab cannot do it."""
    began = time.monotonic()
    done = _ab((), "-s", "60", url, concurrency=concurrency, seconds=seconds)
    if done.returncode:
        pytest.fail(f"ab: {done.stderr}", pytrace=False)
    return Span(began, time.monotonic())


def served_by_ab(url: str, *, concurrency: int, seconds: int, launcher: Sequence[str] = ()) -> float:
    """Requests per second that ab gets, which knows nothing of loadtop; 0 where it does not get through at all."""
    done = _ab(launcher, "-r", url, concurrency=concurrency, seconds=seconds)
    found = RATE.search(done.stdout)
    return 0.0 if done.returncode or found is None else float(found[1])


def watch_load(
    url: str,
    options: Sequence[str],
    *,
    directory: Path,
    seconds: int,
    launcher: Sequence[str] = (),
    codes: Sequence[int] = (0,),
    keep: Path | None = None,
) -> Run:
    """The real program without a screen, in a process of its own; its recording is copied to ``keep``."""
    recording = directory / "lab.loadtop"
    recording.unlink(missing_ok=True)
    command = [
        *launcher, sys.executable, "-m", "loadtop", "--headless", "--record", str(recording), "--json", "-",
        *options, url,
    ]  # fmt: skip
    run = _run(command, seconds=seconds, directory=directory, codes=codes)
    if keep is not None:
        keep_small(recording, keep)
    return run


def run_loadtop(
    url: str, status_url: str, *, concurrency: int, seconds: int, directory: Path, keep: Path | None = None
) -> Run:
    """The real program without a screen, in a process of its own and from another directory."""
    options = ("-c", str(concurrency), "-t", str(seconds), "--apache", status_url)
    return watch_load(url, options, directory=directory, seconds=seconds, keep=keep)


def _run(command: Sequence[str], *, seconds: int, directory: Path, codes: Sequence[int]) -> Run:
    began = time.monotonic()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines: list[tuple[float, str]] = []
        reader = threading.Thread(target=_note_lines, args=(process.stderr, lines), daemon=True)
        reader.start()
        watchdog = threading.Timer(seconds + GRACE_S, process.kill)
        watchdog.start()
        try:
            output = process.stdout.read()
            status = process.wait()
        finally:
            watchdog.cancel()
            reader.join(5)
    if status not in codes:
        said = "\n".join(text for _, text in lines[-30:])
        pytest.fail(f"loadtop ended with {status}:\n{said}", pytrace=False)
    found = [(at, VERDICT.search(text.rstrip())) for at, text in lines]
    verdicts = [(at, match[1].lower()) for at, match in found if match is not None]
    first = lines[0][0] if lines else began
    return Run(Span(began, time.monotonic()), json.loads(output), verdicts, first)


def _note_lines(stream: IO[str], lines: list[tuple[float, str]]) -> None:
    lines.extend((time.monotonic(), line) for line in stream)
