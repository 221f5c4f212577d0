"""The pipes of marks: a test that begins removes those of tests that were killed."""

import os
from pathlib import Path

import pytest

from loadtop.recording.marks import MarkPipe, folder


def test_pipes_of_killed_tests_are_removed_and_those_of_running_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    running = MarkPipe("running.loadtop")
    killed, other = folder() / "4711-killed.loadtop.marks", folder() / "notes.txt"
    os.mkfifo(killed, 0o600)
    other.write_text("no pipe")
    begun = MarkPipe("begun.loadtop")
    names = sorted(path.name.partition("-")[2] for path in folder().glob("*.marks"))
    assert names == ["begun.loadtop.marks", "running.loadtop.marks"]
    assert other.exists()
    other.unlink()
    begun.close()
    running.close()
    assert not folder().exists()
