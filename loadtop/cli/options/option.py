"""What is declared about an option, and the types of values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtop.i18n import Translatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number below 10 million, or a whole number. Called with a word, returns its value; raises ValueError with what
    the word must be."""

    least: float | None = None
    above: float | None = None
    whole: bool = False

    def __call__(self, word: str) -> float:
        kind = "a whole number" if self.whole else "a number"
        try:
            number = int(word) if self.whole else float(word)
        except ValueError:
            raise ValueError(kind) from None
        if self.above is not None and not number > self.above:
            raise ValueError(f"{kind} above {self.above:g}")
        if self.least is not None and not number >= self.least:
            raise ValueError(f"{kind} of {self.least:g} or more")
        if not self.whole and not number < 1e7:
            raise ValueError(f"{kind} below 10 million")
        return number


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def __call__(self, word: str) -> str:
        if word not in self.words:
            raise ValueError(str(self))
        return word

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


def output_file(word: str) -> Path:
    """A file to write; standard output is not possible."""
    if word == "-":
        raise ValueError("the name of a file")
    return Path(word)


@dataclass(frozen=True, slots=True)
class Option:
    """One option; an argument if its name has no dash.

    ``names`` are separated by blanks; messages use the first. An option without ``metavar`` is a flag. ``type`` raises
    ValueError with what the value must be. ``commands`` defaults to those of the group. ``help_for`` replaces ``help``
    for a command that gives the option another meaning. ``refused`` maps commands and engines that cannot do what the
    option asks for to advice. ``own_plan`` are the engines for which a user's plan (``--plan``) replaces the option. At
    most one option of each ``conflict`` set can be given. ``ab`` compares it with ab's option, in Markdown.
    """

    names: str
    metavar: str
    help: str
    type: Callable[[str], object] = str
    default: object = None
    nargs: str | None = None
    repeatable: bool = False
    dest: str = ""
    commands: tuple[str, ...] = ()
    help_for: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: "Mapping[str, Translatable]" = field(default_factory=dict[str, str])
    own_plan: tuple[str, ...] = ()
    conflict: str = ""
    ab: str = ""

    @property
    def name(self) -> str:
        return self.names.split()[0]

    @property
    def attribute(self) -> str:
        """The attribute of the parsed arguments that holds its value."""
        return self.dest or self.names.split()[-1].lstrip("-").replace("-", "_")

    def given(self, arguments: object) -> bool:
        unset: object = [] if self.repeatable else self.default if self.metavar else False
        return getattr(arguments, self.attribute, unset) != unset

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
