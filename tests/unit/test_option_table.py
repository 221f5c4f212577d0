"""The table of options: ``--help`` of every command and errors follow from it, and the page on ab agrees with it."""

import re
from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.cli.options.parser import read
from loadtop.cli.options.table import COMMANDS, ENGINES, GROUPS, Options, options_of
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.registry import KINDS
from loadtop.servers.status_options import STATUS_OPTIONS

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:1/"
AB = {*"nctsbBpuTvwixyzCHAPXVkdSqlgermIZfEh"}
"""The options of ab 2.4."""

CALLS = [
    *([command] for command in COMMANDS),
    *([command.name, part] for command in COMMANDS.values() for part, _ in command.parts),
]
OPTIONS = [option for group in GROUPS for option in group.options]


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_help_shows_exactly_the_options_of_the_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    listed = re.findall(r"^  (-.*?)(?:  |$)", help_of(words, capsys), re.MULTILINE)
    shown = {name for line in listed for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", line)}
    taken = {name for option in options_of(" ".join(words)) for name in option.names.split() if name.startswith("-")}
    assert shown == taken


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_help_fits_80_columns_and_is_whole(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(words, capsys)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(f"usage: loadtop {'[run]' if words == ['run'] else words[0]}")
    for option in options_of(" ".join(words)):
        assert " ".join(option.help_of(words[0]).split()[:2]) in " ".join(text.split())
    if len(words) == 1:
        assert f"examples:\n  loadtop {COMMANDS[words[0]].examples[0]}\n" in text


def test_every_option_is_declared_for_the_type_checker() -> None:
    pages = {page.name for page in STATUS_OPTIONS}
    names = {option.attribute for option in OPTIONS} - pages - {"help", "version"}
    derived = {
        "command",
        "argv",
        "words",
        "program",
        "part",
        "plan",
        "html_table",
        "status_urls",
        "load_hosts",
        "locustfile",
    }
    assert set(Options.__annotations__) == names | derived | {"search", "limits", "most_by_hand"}
    assert not hasattr(Options, "__getattr__")  # with it, any name would pass


def test_without_a_command_help_is_that_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert help_of([], capsys) == help_of(["run"], capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_understood(command: str) -> None:
    for example in COMMANDS[command].examples:
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", example)]
        assert read(words).command == command


def test_the_page_on_ab_compares_every_option_of_ab() -> None:
    shown = {
        option.name: f"{option.name} {option.metavar}".rstrip() for option in OPTIONS if option.name.lstrip("-") in AB
    }
    assert {name.lstrip("-") for name in shown} == AB
    _, _, table = (ROOT / "docs" / "ab.md").read_text().partition("| ab | in loadtop |\n|---|---|\n")
    rows = [row.split("|") for row in table.partition("\n\n")[0].splitlines()]
    assert sorted(row[1].strip(" `") for row in rows) == sorted(shown.values())
    assert all(row[2].strip() for row in rows)


def test_every_kind_of_server_with_a_status_page_has_an_option_for_it() -> None:
    assert [page.name for page in STATUS_OPTIONS] == [kind.name for kind in KINDS if kind is not GUNICORN]


def test_what_is_refused_names_a_command_or_an_engine() -> None:
    for group in GROUPS:
        for refused in (group.refused, *(option.refused for option in group.options)):
            assert set(refused) <= {*COMMANDS, *ENGINES}


def test_options_of_every_command_may_stand_anywhere() -> None:
    for words in (["--lang", "ja", "watch"], ["watch", "--lang", "ja"], ["--lang=ja", "watch", "--", "ab", "--lang"]):
        arguments = read(words)
        assert (arguments.command, arguments.lang) == ("watch", "ja")
    assert read(["watch", "--", "ab", "--lang", "xx"]).program == ("ab", "--lang", "xx")
