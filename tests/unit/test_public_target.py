"""Loads on public addresses are named, and large ones asked about: on a terminal, once, without --yes."""

import io
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from loadtop.cli import experiment
from loadtop.cli.exit_codes import INTERRUPTED
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.parser import read
from loadtop.cli.public_target import DeclinedError, confirm_public_targets, is_public

PUBLIC = "http://93.184.216.34/"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Confirm the load of a command line on a terminal where the answer was typed; returns what was printed."""

    def confirm(*words: str, answer: str | None = None) -> str:
        errors = Terminal() if answer is not None else io.StringIO()
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(sys, "stdin", Terminal(answer) if answer is not None else io.StringIO())
        options = parse(words)
        confirm_public_targets([options], yes=options.yes)
        return errors.getvalue()

    return confirm


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("::ffff:93.184.216.34", True),
        ("127.0.0.1", False),
        ("::1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("169.254.1.1", False),
        ("100.64.0.1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:192.168.0.1", False),
        ("192.0.2.7", False),
    ],
)
def test_what_is_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_one_line_names_the_address(asked: Any) -> None:
    line = "loadtop: the load targets a public address: 93.184.216.34\n"
    assert asked("-n", "1", PUBLIC) == line
    assert asked("-c", "500", "-t", "1", PUBLIC, answer="") == line, "this many are not asked about"


def test_a_name_has_its_address_beside_it(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"web1": "10.0.0.1", "www": "93.184.216.34"}

    def look_up(host: str, *_: object, **__: object) -> list[Any]:
        if host not in known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, 0, 0, "", (known[host], 0))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert asked("-n", "1", "http://web1/", "http://www/", "http://gone/") == (
        "loadtop: the load targets a public address: www (93.184.216.34)\n"
    )


@pytest.mark.parametrize("words", [("-c", "501", "-t", "1"), ("--steps", "1,600"), ("tune",), ("tune", "-c", "8")])
def test_a_large_load_is_asked_about_once(asked: Any, words: tuple[str, ...]) -> None:
    assert asked(*words, PUBLIC, answer="y\n").count("[y/N]") == 1
    for answer in ("\n", "n\n", ""):
        with pytest.raises(DeclinedError) as declined:
            asked(*words, PUBLIC, answer=answer)
        assert declined.value.code == INTERRUPTED
    assert "[y/N]" not in asked(*words, "--yes", PUBLIC, answer="n\n")
    assert "[y/N]" not in asked(*words, PUBLIC), "there is nobody to ask without a terminal"
    assert asked(*words, "http://127.0.0.1/", answer="n\n") == ""
    assert asked(*words, "http://192.168.7.7/", answer="n\n") == ""


@pytest.mark.parametrize("words", [(), ("-c", "900")])
def test_keys_raise_the_load_no_further_than_was_agreed(
    words: tuple[str, ...], asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked("-n", "1", PUBLIC, answer="y\n")  # a terminal
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    public, private = parse([*words, "-t", "1", PUBLIC]), parse([*words, "-t", "1", "http://127.0.0.1/"])
    assert confirm_public_targets([private, public], yes=False) == (900 if words else 500)
    assert confirm_public_targets([private, public], yes=True) is None
    assert confirm_public_targets([private], yes=False) is None


def test_an_experiment_asks_before_its_first_cell(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f"""
title = "two loads"
time = 1
concurrencies = [1, 501]
[urls]
page = "{PUBLIC}"
[[variants]]
name = "as it is"
""")
    asked("-n", "1", PUBLIC, answer="n\n")  # a terminal
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(DeclinedError):
        experiment.main(read(["experiment", str(plan)]))
    assert not list(tmp_path.glob("plan.results*")), "no cell was started"
