"""What is declared about an option, and the options of one command line."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtop.analysis.fail_if import Condition
    from loadtop.analysis.tune.controller import StepSearch, TimeLimits
    from loadtop.generator.plan import Plan
    from loadtop.i18n import Translatable


@dataclass(frozen=True, slots=True)
class Option:
    """One option; an argument if its name has no dash.

    ``names`` are separated by blanks; messages use the first. An option without ``metavar`` is a flag. ``type`` raises
    ValueError with what the value must be, or UsageError. ``choices`` are the only values. ``commands`` defaults to
    those of the group. ``help_for`` replaces ``help`` for a command that gives the option another meaning. ``refused``
    maps commands and engines that cannot do what the option asks for to advice. ``own_plan`` are the engines for which
    a user's plan (``--plan``) replaces the option. At most one option of each ``conflict`` set can be given.
    """

    names: str
    metavar: str
    help: str
    type: Callable[[str], object] = str
    default: object = None
    nargs: str | None = None
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    dest: str = ""
    commands: tuple[str, ...] = ()
    help_for: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: "Mapping[str, Translatable]" = field(default_factory=dict[str, str])
    own_plan: tuple[str, ...] = ()
    conflict: str = ""

    @property
    def name(self) -> str:
        return self.names.split()[0]

    @property
    def attribute(self) -> str:
        """The attribute of the parsed options that holds its value."""
        return self.dest or self.names.split()[-1].lstrip("-").replace("-", "_")

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}" if self.choices else self.metavar

    def convert(self, word: str) -> object:
        """The value. Raises ValueError with what the word must be, or UsageError."""
        if self.choices and word not in self.choices:
            raise ValueError(self.expected)
        return self.type(word)

    def given(self, options: argparse.Namespace) -> bool:
        unset: object = [] if self.repeatable else self.default if self.metavar else False
        return getattr(options, self.attribute, unset) != unset

    def help_of(self, command: str) -> str:
        text = self.help_for.get(command, self.help)
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{text} (default {default})" if default and self.metavar else text


class Group:
    """Options under one heading of ``--help``. ``commands`` take them unless an option says otherwise."""

    def __init__(
        self, title: str, commands: tuple[str, ...], *options: Option, refused: Mapping[str, str] | None = None
    ) -> None:
        self.title, self.commands, self.options, self.refused = title, commands, options, refused or {}

    def taken_by(self, command: str) -> list[Option]:
        return [
            option
            for option in self.options
            if command in (option.commands or self.commands) and command not in option.refused
        ]


class Options(argparse.Namespace):
    """What one command line asks for. argparse sets the attributes that the table names; those with a value here are
    not options of every command. ``words`` are the command line, secrets included; ``program`` is the command that
    ``watch`` runs; ``hosts`` and ``generators`` are pairs of a name and a place.

    The attributes of the second block follow from several options: the load of ``run`` and ``tune``; the attributes of
    the HTML table, its rows and cells; status URLs by host and kind of server; the hosts that generate load for another
    engine; the text of the user's locustfile; the bounds of ``tune``.
    """

    command: str
    words: tuple[str, ...]
    program: tuple[str, ...] = ()
    hosts: list[tuple[str, str]]
    engine: str = "builtin"
    generators: list[tuple[str, str]]
    servers: tuple[str, ...] = ()
    time: float | None = None
    steps: str | None = None
    warmup: float = 0.0
    verbosity: int = 0
    headless: bool = False
    quiet: bool = False
    json: str | None = None
    html: Path | None = None
    ab: bool = False
    no_percentiles: bool = False
    no_spread: bool = False
    percentiles_csv: Path | None = None
    gnuplot: Path | None = None
    fail_if: "list[Condition]"

    plan: "Plan"
    html_table: tuple[str, str, str] | None = None
    status_urls: dict[str, dict[str, list[str]]]
    load_hosts: frozenset[str] = frozenset()
    locustfile: str | None = None
    search: "StepSearch"
    limits: "TimeLimits"
