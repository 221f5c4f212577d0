"""Marks from outside, while real tests run."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from loadtop.recording.reader import Session

COMMAND = [sys.executable, "-m", "loadtop"]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "loadtop"


@pytest.fixture
def tests(state: Path) -> Iterator["list[subprocess.Popen[bytes]]"]:
    """What is put here is ended."""
    del state  # only so that the tests run with it
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for each in started:
        each.kill()
        each.wait(10)


def _watch(record: Path) -> "subprocess.Popen[bytes]":
    words = ["watch", "-t", "60", "--headless", "-q", "--interval", "0.2", "--record", str(record)]
    return subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _mark(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, "mark", *words], capture_output=True, text=True, timeout=30)


def _until(what: str, condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def _pipes(state: Path, name: str) -> list[Path]:
    return list((state / "running").glob(f"*-{name}.marks"))


def _marks(path: Path) -> list[str]:
    with Session(path) as session:
        return [text for _, text in session.marks()]


def test_marks_reach_the_test_they_are_meant_for(
    state: Path, tests: "list[subprocess.Popen[bytes]]", tmp_path: Path
) -> None:
    first, second = tmp_path / "the first.loadtop", tmp_path / "second.loadtop"
    for path in (first, second):
        tests.append(_watch(path))
        _until("its pipe", partial(_pipes, state, path.name.replace(" ", "-")))
    newest = max((state / "running").iterdir(), key=lambda pipe: pipe.stat().st_ctime_ns)
    assert stat.S_IMODE(newest.stat().st_mode) == 0o600
    assert stat.S_IMODE(newest.parent.stat().st_mode) == 0o700
    # A test listens once it runs; before, a mark waits in the pipe.
    assert _mark("restarted httpd").stdout == "noted in second.loadtop\n"
    assert _mark("flushed\x1b[2J\nthe cache", "--session", str(first)).stdout == "noted in the-first.loadtop\n"
    newest.write_text("by hand\n\n  \n")
    _until("the marks", lambda: len(_marks(second)) == 2 and len(_marks(first)) == 1)
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


def test_mark_without_text_is_said(state: Path) -> None:
    assert not state.exists()
    assert _mark(" ").returncode == 2
    assert not os.path.lexists(state)
