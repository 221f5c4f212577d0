"""Completion in real shells: commands, options, their values, recordings, and hosts of the ssh configuration."""

import contextlib
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtop.cli.options.completion import script
from loadtop.cli.options.table import COMMANDS
from tests.loads.program import wait_until
from tests.servers.program import find_program

EXPECTED = [
    ("loadtop tu", {"tune"}),
    ("loadtop tune --fi", {"--finer"}),
    ("loadtop --engine l", {"locust"}),
    ("loadtop sessions pr", {"prune"}),
    ("loadtop sessions prune --ol", {"--older-than"}),
    ("loadtop report be", {"before.loadtop"}),
    ("loadtop --host we", {"web1=ssh://web1"}),
    ("loadtop help compl", {"completion"}),
    ("loadtop compare --by st", {"step"}),
]

BASH = """
compopt() { :; }
COMP_LINE=$1 COMP_POINT=${#1}
_loadtop
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording, an ssh configuration, and no files where the shell runs."""
    monkeypatch.chdir(tmp_path)
    recordings = Path(os.environ["XDG_STATE_HOME"], "loadtop")
    recordings.mkdir(parents=True)
    (recordings / "before.loadtop").touch()
    ssh = Path(os.environ["HOME"], ".ssh")
    ssh.mkdir()
    (ssh / "config").write_text("Host web1 *.example.org\n  User me\nHost db1\n", encoding="utf-8")


def completed(*command: str) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert not done.stderr
    return {line.partition("\t")[0] for line in done.stdout.splitlines()} - {""}


def in_bash(line: str) -> set[str]:
    return completed("bash", "-c", script("bash") + BASH, "bash", line)


def in_fish(line: str, directory: Path) -> set[str]:
    file = directory / "completion.fish"
    file.write_text(script("fish"), encoding="utf-8")
    fish = find_program("fish", install="apt-get install fish")
    return completed(fish, "--no-config", "-c", f"source {file}; complete -C $argv[1]", line)


@pytest.mark.parametrize(("line", "words"), EXPECTED)
def test_in_bash(line: str, words: set[str]) -> None:
    assert in_bash(line) == words


@pytest.mark.parametrize(("line", "words"), EXPECTED)
def test_in_fish(line: str, words: set[str], tmp_path: Path) -> None:
    assert in_fish(line, tmp_path) == words


def test_every_command_comes_first_in_bash_and_fish(tmp_path: Path) -> None:
    assert in_bash("loadtop ") == set(COMMANDS)
    assert in_fish("loadtop ", tmp_path) >= set(COMMANDS)


def test_a_host_keeps_the_name_that_it_was_given(tmp_path: Path) -> None:
    assert in_bash("loadtop --host x=") == {"ssh://web1", "ssh://db1"}  # after the = that ends a word of bash
    assert in_fish("loadtop --host x=", tmp_path) == {"x=ssh://web1", "x=ssh://db1"}


def test_another_command_is_completed_as_a_command() -> None:
    assert "printf" in in_bash("loadtop watch -- print")


class Zsh:
    """An interactive zsh with the completion loaded."""

    def __init__(self, directory: Path) -> None:
        file = directory / "completion.zsh"
        file.write_text(script("zsh"), encoding="utf-8")
        zsh = find_program("zsh", install="apt-get install zsh")
        self._ours, theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        environment = {**os.environ, "TERM": "dumb", "PS1": "$ "}
        self._process = subprocess.Popen([zsh, "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.shown = ""
        self.type(f"autoload -U compinit; compinit -D -u; source {file}; echo re''ady\n")
        assert self.shows("ready"), self.shown

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def shows(self, text: str) -> bool:
        return wait_until(lambda: text in self._read(), 20)

    def _read(self) -> str:
        with contextlib.suppress(BlockingIOError):
            self.shown += os.read(self._ours, 65536).decode()
        return re.sub("[\\a\\b\\r\\n]+", "", self.shown)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Zsh]:
    shell = Zsh(tmp_path)
    yield shell
    shell.close()


def test_in_zsh(zsh: Zsh) -> None:
    for line, words in EXPECTED:
        zsh.shown = ""
        zsh.type(f"{line}\t")
        (word,) = words
        rest = word.removeprefix(line.rpartition(" ")[2])
        assert zsh.shows(f"{line}{rest}"), repr(zsh.shown)
        zsh.type("\x15")  # ctrl+u: empty the line
