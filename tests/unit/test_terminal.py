"""Where a screen is drawn."""

import os
import pty
import sys
from pathlib import Path

import pytest

from loadtop.cli.display import can_draw, with_screen
from loadtop.cli.options.command_line import parse


@pytest.mark.parametrize(
    ("term", "drawn"),
    [("xterm-256color", True), ("linux", True), ("vt100", True), ("dumb", False), ("", False), (None, False)],
)
def test_a_terminal_that_only_takes_lines_gets_lines(
    term: str | None, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert can_draw() is drawn
        assert with_screen(parse(["watch"])) is drawn
        assert not with_screen(parse(["watch", "--headless"]))
    os.close(master)


def test_a_file_is_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        assert not can_draw()
