"""Manual pages: whole, and nothing in a text is a request of the typesetter's."""

import re

import pytest

from loadtop.cli.options.man_pages import man_pages
from loadtop.cli.options.option import Command
from loadtop.cli.options.table import COMMANDS, options_of

PAGES = man_pages()
MACROS = {".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".EX", ".EE"}


def plain(page: str) -> str:
    return page.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`").replace("\\&", "").replace("\\e", "\\")


def test_each_command_has_one() -> None:
    assert set(PAGES) == {"loadtop.1", *(f"loadtop-{name}.1" for name in COMMANDS if name != "run")}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_it_has_every_option_and_example(command: Command) -> None:
    text = plain(PAGES["loadtop.1" if command.name == "run" else f"loadtop-{command.name}.1"])
    for place in (command.name, *(f"{command.name} {part}" for part, _ in command.parts)):
        for option in options_of(place):
            names = option.names.split() if option.name.startswith("-") else [option.metavar]
            assert re.search(rf"^\.B {re.escape(', '.join(names))}( |$)", text, re.MULTILINE), names
            assert f"\n{option.help_of(place)}\n" in text
    assert all(f"\nloadtop {example}\n" in text for example in command.examples)


@pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
def test_only_its_macros_are_requests(page: str) -> None:
    requests = {line.split()[0] for line in page.splitlines() if line[0] in ".'"}
    assert requests <= MACROS
    assert set(re.findall(r"\\(?:\(..|.)", page)) <= {"\\-", "\\&", "\\e", "\\(aq", "\\(ga"}
