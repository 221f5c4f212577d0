"""Every option of the ab on this machine is an option of loadtop, and the manual says what it does."""

import re
import subprocess
from pathlib import Path

import pytest

from loadtop.cli import main
from tests.servers.program import find_program

MANUAL = Path(__file__).parents[2] / "docs" / "ab.md"
NOT_OF_THE_MACHINE = {"-W", "-R", "-Q", "-D", "-o"}
"""Options of ab's next version (httpd 2.5), which loadtop does not have."""


def options_of_ab() -> list[str]:
    ab = find_program("ab", install="apt-get install apache2-utils")
    said = subprocess.run([ab, "-h"], check=False, capture_output=True, text=True, timeout=30)
    found = re.findall(r"^ +(-\w) ", said.stdout + said.stderr, re.MULTILINE)
    return [each for each in found if each not in NOT_OF_THE_MACHINE]


def test_every_option_is_in_the_manual() -> None:
    section = MANUAL.read_text().partition("## Every option of ab")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(-\w)\b", section))
    assert len(options_of_ab()) > 30
    assert set(options_of_ab()) <= told


def test_every_option_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    taken = set(re.findall(r"(?<![\w-])(-\w)\b", capsys.readouterr().out))
    assert set(options_of_ab()) <= taken


@pytest.mark.parametrize("option", [["-f", "SSL2"], ["-f", "SSL3"], ["-Z", "TLS_AES_256_GCM_SHA384"]])
def test_limits_of_python_are_reported_before_anything_is_sent(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*option, "-n", "1", "--no-record", "https://127.0.0.1:1/"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert option[1] in line
