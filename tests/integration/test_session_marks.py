"""Marks from outside, while real tests run."""

import os
import stat
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from loadtop.recording.reader import Session
from tests.loads.program import LOADTOP, loadtop, wait_until


@pytest.fixture
def tests() -> Iterator["list[subprocess.Popen[bytes]]"]:
    """What is put here is ended."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for each in started:
        each.kill()
        each.wait(10)


def _watch(record: Path) -> "subprocess.Popen[bytes]":
    words = ["watch", "-t", "60", "--headless", "-q", "--interval", "0.2", "--record", str(record)]
    return subprocess.Popen([*LOADTOP, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _mark(*words: str) -> "subprocess.CompletedProcess[str]":
    return loadtop("mark", *words)


def _has_pipe(state: Path, name: str) -> bool:
    return any((state / "running").glob(f"*-{name}.marks"))


def _marks(path: Path) -> list[str]:
    with Session(path) as session:
        return [text for _, text in session.marks()]


def test_marks_reach_the_test_they_are_meant_for(
    state: Path, tests: "list[subprocess.Popen[bytes]]", tmp_path: Path
) -> None:
    first, second = tmp_path / "the first.loadtop", tmp_path / "second.loadtop"
    for path in (first, second):
        tests.append(_watch(path))
        assert wait_until(partial(_has_pipe, state, path.name.replace(" ", "-")))
    newest = max((state / "running").iterdir(), key=lambda pipe: pipe.stat().st_ctime_ns)
    assert stat.S_IMODE(newest.stat().st_mode) == 0o600
    assert stat.S_IMODE(newest.parent.stat().st_mode) == 0o700
    # A test listens once it runs; before, a mark waits in the pipe.
    assert _mark("restarted httpd").stdout == "noted in second.loadtop\n"
    assert _mark("flushed\x1b[2J\nthe cache", "--session", str(first)).stdout == "noted in the-first.loadtop\n"
    newest.write_text("by hand\n\n  \n")
    assert wait_until(lambda: len(_marks(second)) == 2 and len(_marks(first)) == 1)
    assert _marks(second) == ["restarted httpd", "by hand"]
    assert _marks(first) == ["flushed\x1b[2J the cache"]
    wrong = _mark("x", "--session", "third.loadtop")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (3, 1)
    assert "second.loadtop" in wrong.stderr
    tests[1].terminate()
    tests[1].wait(20)
    tests[0].kill()
    tests[0].wait(20)
    assert not newest.exists()
    done = _mark("too late")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert not list((state / "running").glob("*.marks"))  # that of the killed test is tidied away


def test_mark_without_text_is_reported(state: Path) -> None:
    assert not state.exists()
    assert _mark(" ").returncode == 2
    assert not os.path.lexists(state)
