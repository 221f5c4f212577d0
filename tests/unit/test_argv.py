"""The command line of a process is overwritten where it has secrets."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from pathlib import Path
from loadtop.cli.argv import overwrite

overwrite(sys.argv[1:], json.loads(sys.stdin.read()))
print(json.dumps([sys.argv[1:], Path("/proc/self/cmdline").read_bytes().decode("latin-1")]))
"""


def shown(words: list[str], instead: list[str]) -> tuple[list[str], str]:
    """What the process still knows, and what others see of the same words."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, input=json.dumps(instead), capture_output=True, text=True, check=True, timeout=60)
    known, line = json.loads(done.stdout)
    assert "loadtop.cli.argv" in line, "the words before them stay"
    return known, line.partition(PROGRAM)[2]


CASES = [  # only Linux says where the command line is
    (["-A", "me:hunter2", "http://web1/"], ["-A", "***", "http://web1/"], "\0-A\0***\0http://web1/" + 8 * "\0"),
    (["-C", "a"], ["-C", "***"], "\0-C\0*\0"),
    (["-n", "1"], ["-n", "1"], "\0-n\0001\0"),
    (["-A", "m\u00e9:p"], ["-A", "***"], "\0-A\0***\0\0\0"),
]


@pytest.mark.parametrize(("words", "instead", "expected"), CASES if sys.platform == "linux" else [])
def test_secrets_are_not_seen_and_still_known(words: list[str], instead: list[str], expected: str) -> None:
    known, line = shown(words, instead)
    assert known == words
    assert line == expected


def test_words_of_another_program_are_left_alone() -> None:
    code = "import sys; from loadtop.cli.argv import overwrite; overwrite(['other'], ['***'])"
    code += "; print(open('/proc/self/cmdline').read() if sys.platform == 'linux' else 'me')"
    done = subprocess.run([sys.executable, "-c", code, "me"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip("\0\n").endswith("me")
