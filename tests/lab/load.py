"""Loads for the lab: ab's, to prove what the limit is, and loadtop's own, to hear what it says."""

import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.servers.program import find_program

VERDICT = re.compile(r"  ([A-Z][A-Z-]+)(?: on \S+)?$")
GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Span:
    """When a load began and ended, on the monotonic clock."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Run:
    """What loadtop said: its summary, and the verdict of each line with the moment it was printed (monotonic)."""

    span: Span
    summary: dict[str, Any]
    verdicts: list[tuple[float, str]]

    @property
    def bottleneck(self) -> str:
        return str(self.summary["verdict"]["bottleneck"])

    def said_at(self, bottleneck: str) -> float | None:
        """When this verdict was first printed."""
        return next((at for at, said in self.verdicts if said == bottleneck), None)


def run_ab(url: str, *, concurrency: int, seconds: int) -> Span:
    """ab's closed load for that time; fails the test where ab cannot do it."""
    ab = find_program("ab", install="apt-get install apache2-utils")
    command = [ab, "-q", "-l", "-c", str(concurrency), "-n", "1000000", "-t", str(seconds), "-s", "60", url]
    began = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + GRACE_S)
    if done.returncode:
        pytest.fail(f"ab: {done.stderr}", pytrace=False)
    return Span(began, time.monotonic())


def run_loadtop(url: str, status_url: str, *, concurrency: int, seconds: int, directory: Path) -> Run:
    """The real program without a screen, in a process of its own and from another directory."""
    command = [
        sys.executable, "-m", "loadtop", "--headless", "--no-record", "--json", "-",
        "-c", str(concurrency), "-t", str(seconds), "--apache", status_url, url,
    ]  # fmt: skip
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
    if status != 0:
        said = "\n".join(text for _, text in lines[-30:])
        pytest.fail(f"loadtop ended with {status}:\n{said}", pytrace=False)
    found = [(at, VERDICT.search(text.rstrip())) for at, text in lines]
    verdicts = [(at, match[1].lower()) for at, match in found if match is not None]
    return Run(Span(began, time.monotonic()), json.loads(output), verdicts)


def _note_lines(stream: IO[str], lines: list[tuple[float, str]]) -> None:
    lines.extend((time.monotonic(), line) for line in stream)
