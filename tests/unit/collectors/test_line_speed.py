"""The speed of lines that do not tell theirs."""

import pytest

from collectors.linux.devices import assumed
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse
from loadtop.model import Network


def test_a_speed_that_was_told_holds_for_lines_that_do_not_know_theirs() -> None:
    read = [("eth0", 1000), ("eth1", None), ("veth3", 10_000), ("tun0", 10), ("lo", None)]
    lines = [Network(name, 0, 0, 0, 0, link_mbit=speed) for name, speed in read]
    assert [line.link_mbit for line in assumed(lines, 20)] == [1000, 20, 20, 20, None]


def test_the_speed_is_a_number_of_mbit() -> None:
    assert parse(["run", "--link", "100", "-n", "1", "http://127.0.0.1/"]).link == 100
    assert parse(["run", "-n", "1", "http://127.0.0.1/"]).link is None
    with pytest.raises(UsageError, match="--link"):
        parse(["run", "--link", "fast", "-n", "1", "http://127.0.0.1/"])
