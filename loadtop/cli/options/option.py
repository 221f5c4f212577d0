"""What is declared about a command and an option, and the types of options.

A type converts a word; it raises ValueError with what the word must be, or UsageError.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from loadtop.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from loadtop.analysis.fail_if import Condition
    from loadtop.i18n import Translatable


_SSH_PLACE = re.compile(r"ssh://(?:\w[\w.+-]*@)?(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?", re.ASCII)
_JMETER_SERVER = re.compile(r"\w[\w.-]*(?::(?P<port>\d{1,5}))?", re.ASCII)


def number(*, least: float | None = None, above: float | None = None, whole: bool = False) -> Callable[[str], float]:
    """The type of a number below 10 million, or of a whole number."""
    kind = "a whole number" if whole else "a number"

    def convert(word: str) -> float:
        try:
            value = int(word) if whole else float(word)
        except ValueError:
            raise ValueError(kind) from None
        if above is not None and not value > above:
            raise ValueError(f"{kind} above {above:g}")
        if least is not None and not value >= least:
            raise ValueError(f"{kind} of {least:g} or more")
        if not whole and not value < 1e7:
            raise ValueError(f"{kind} below 10 million")
        return value

    return convert


COUNT, POSITIVE = number(least=1, whole=True), number(above=0)


def workers(word: str) -> float:
    """A number of processes; 0 stands for ``auto``."""
    try:
        return 0 if word == "auto" else COUNT(word)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None


def link(text: str) -> tuple[str, float]:
    """The name of a host, or nothing for all of them, and Mbit/s."""
    name, _, speed = text.rpartition(":")
    try:
        return name, POSITIVE(speed)
    except ValueError:
        raise UsageError(f"--link '{text}': write MBIT or NAME:MBIT, such as 100 or web:100") from None


def output_file(word: str) -> Path:
    """A file to write; standard output is not possible."""
    if word == "-":
        raise ValueError("the name of a file")
    return Path(word)


def listening_place(word: str) -> tuple[str, int]:
    """Where to listen: on loopback unless there is an address."""
    address, _, port = word.rpartition(":")
    try:
        number = int(port)
    except ValueError:
        number = -1
    if not 0 < number < 65536:
        raise ValueError("PORT or ADDRESS:PORT")
    return address.strip("[]") or "127.0.0.1", number


def is_ssh_place(place: str) -> bool:
    """Whether it is ``ssh://[USER@]HOST[:PORT]`` with a valid port."""
    return _has_port(_SSH_PLACE.fullmatch(place))


def _has_port(found: re.Match[str] | None) -> bool:
    return found is not None and 0 < int(found["port"] or 22) < 65536


def watched_host(text: str) -> tuple[str, str]:
    from loadtop.model.places import EXEC, HERE, exec_command

    name, equals, place = text.partition("=")
    if not equals or not name:
        raise UsageError(
            f"--host '{text}': write NAME=local, NAME=ssh://[USER@]HOST[:PORT], NAME=exec:COMMAND or NAME=psutil"
        )
    with suppress(ValueError):  # quotes that are not closed
        if place in HERE or is_ssh_place(place) or exec_command(place):
            return name, place
    if place.startswith(EXEC):
        raise UsageError(
            f"--host '{text}': after exec:, write the command that starts a shell there, such as docker exec -i web sh"
        )
    raise UsageError(f"--host '{text}': the place must be local, ssh://[USER@]HOST[:PORT], exec:COMMAND or psutil")


def generator(text: str) -> tuple[str, str]:
    from loadtop.model.places import LOCAL

    name, equals, place = text.partition("=")
    if not equals or not name or not (place == LOCAL or is_ssh_place(place)):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def jmeter_servers(text: str) -> tuple[str, ...]:
    servers = tuple(text.split(","))
    if len(set(servers)) < len(servers) or not all(_has_port(_JMETER_SERVER.fullmatch(server)) for server in servers):
        raise UsageError(f"-R '{text}': write HOST,HOST or HOST:PORT,HOST:PORT, each only once")
    return servers


def condition(text: str) -> "Condition":
    from loadtop.analysis.fail_if import Condition, ConditionError

    try:
        return Condition.parse(text)
    except ConditionError as error:
        raise UsageError(f"--fail-if: {error}") from None


@dataclass
class Option:
    """One option; an argument if its name has no dash. As a class attribute, it is the value of an option not given.

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
    commands: tuple[str, ...] = ()
    help_for: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: "Mapping[str, Translatable]" = field(default_factory=dict[str, str])
    own_plan: tuple[str, ...] = ()
    conflict: str = ""

    def __post_init__(self) -> None:
        self.attribute = self.names.split()[-1].lstrip("-")

    def __set_name__(self, owner: object, name: str) -> None:
        self.attribute = name

    def __get__(self, options: object, owner: object) -> object:
        return [] if self.repeatable else self.default if self.metavar else False

    @property
    def name(self) -> str:
        return self.names.split()[0]

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.choices)}" if self.choices else self.metavar

    def convert(self, word: str) -> object:
        """The value. Raises ValueError with what the word must be, or UsageError."""
        if self.choices and word not in self.choices:
            raise ValueError(self.expected)
        return self.type(word)

    def given(self, options: object) -> bool:
        return bool(getattr(options, self.attribute) != self.__get__(options, None))

    def help_of(self, command: str) -> str:
        text = self.help_for.get(command, self.help)
        default = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{text} (default {default})" if default and self.metavar else text


@dataclass
class Group:
    """Options under one heading of ``--help``. ``commands`` take them unless an option says otherwise."""

    title: str
    commands: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    options: list[Option] = field(default_factory=list[Option])

    def option(self, names: str, metavar: str, about: str, kind: Callable[[str], object] = str, **more: Any) -> Any:
        """Add an :class:`Option` to the group, and return it."""
        self.options.append(Option(names, metavar, about, kind, **more))
        return self.options[-1]

    def taken_by(self, command: str) -> list[Option]:
        return [
            option
            for option in self.options
            if command in (option.commands or self.commands) and command not in option.refused
        ]


class Command(Struct, frozen=True):
    """``usage`` is what follows ``loadtop``; ``module`` of ``loadtop.cli`` has ``main(options) -> exit code``.
    ``examples`` are also what follows ``loadtop``. ``parts`` are its subcommands, with their summaries."""

    name: str
    usage: str
    summary: str
    module: str = ""
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
