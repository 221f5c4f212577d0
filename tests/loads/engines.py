"""Runs of other engines: loadtop as a program, and its processes that are still running."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.loads.processes import mark_environment, marked
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

LOCUST = Path(sys.prefix) / "engines" / "bin"
"""The Locust of the tests."""


def require_locust() -> None:
    """Fail the test with one line if there is none."""
    if not (LOCUST / "locust").exists():
        pytest.fail(
            "this test needs Locust: `make engines` installs it, as `make test` and `make lab` do", pytrace=False
        )


def mark_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, programs: Path) -> str:
    """Put ``programs`` on PATH; return a text that all later processes have in their environment, over SSH too."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{programs}:{os.environ['PATH']}")
    return mark_environment(monkeypatch, tmp_path)


def remote_machine(sshd: SshdFactory, tmp_path: Path, mark: str, alias: str = "gen1") -> str:
    """Return the place of a remote machine with this test's PATH; ``ssh`` finds it from now on."""
    server = sshd(alias=alias, extra=f"SetEnv TESTS_MARK={mark} TMPDIR={tmp_path} PATH={os.environ['PATH']}")
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {find_program("ssh", install="openssh-client")} -F {server.config} "$@"\n')
    ssh.chmod(0o755)
    return f"ssh://{alias}"


def loadtop(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "loadtop", *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)


@contextmanager
def started(*words: str) -> Generator["subprocess.Popen[str]"]:
    """loadtop in the background, its JSON summary on standard output; killed at the end if it still runs."""
    command = [sys.executable, "-m", "loadtop", "--json", "-", *words]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def summary_of(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


def live_processes(mark: str, *words: str) -> list[int]:
    """Return the processes of another engine and their guards in this test whose command lines have all these words."""
    ours = ("locust", "process_guard.py", "ApacheJMeter", "mktemp")
    return sorted({pid for name in ours for pid in marked(mark, name, *words)})


def children(pid: int) -> list[int]:
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


def command_line(pid: int) -> str:
    """Return the command line, for a message."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[-300:]
    except OSError:
        return ""
