"""The processes of one test, found by a text in their environment."""

import os
import time
from pathlib import Path

import pytest


def mark_environment(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a text that all later processes have in their environment."""
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("TESTS_MARK", mark)
    return mark


def marked(mark: str, *words: str) -> list[int]:
    """Return the processes with the mark whose command lines, with a ``\\0`` after each word, have all these texts."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            environment = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in environment and all(word in line for word in words) and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found
