"""Runs of other engines: where those are, and their processes and files that are still there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loads.processes import mark_environment, marked
from tests.loads.program import wait_until
from tests.servers.sshd import SshdFactory, put_ssh

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
    return mark_environment(monkeypatch)


def remote_machine(sshd: SshdFactory, tmp_path: Path, mark: str, alias: str = "gen1") -> str:
    """Return the place of a remote machine with this test's PATH; ``ssh`` finds it from now on."""
    server = sshd(
        alias=alias, extra=f"SetEnv TESTS_MARK={mark} TMPDIR={os.environ['TMPDIR']} PATH={os.environ['PATH']}"
    )
    put_ssh(tmp_path, server.config)
    return f"ssh://{alias}"


def live_processes(mark: str, *words: str) -> list[int]:
    """Return the processes of another engine and their guards in this test whose command lines have all these words."""
    ours = ("locust", "process_guard.py", "ApacheJMeter", "mktemp")
    return sorted({pid for name in ours for pid in marked(mark, name, *words)})


def files_left() -> list[Path]:
    """Return what is left of the directories of runs."""
    return list(Path(os.environ["TMPDIR"]).glob("loadtop.*"))


def command_line(pid: int) -> str:
    """Return the command line, for a message."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[-300:]
    except OSError:
        return ""


def nothing_left(mark: str) -> None:
    """Check that no process of this test is left after at most 30 s, and no file."""
    is_clean = wait_until(lambda: not (live_processes(mark) or files_left()))
    assert is_clean, (files_left(), [command_line(pid) for pid in live_processes(mark)])


def output_after(program: "subprocess.Popen[str]", name: str, mark: str) -> str:
    """Send loadtop this signal, check how it ends and that nothing is left, and return its output."""
    program.send_signal(getattr(signal, name))
    out, told = program.communicate(timeout=30)
    assert program.returncode == (130 if name == "SIGINT" else -9), told
    nothing_left(mark)
    return out
