"""What is declared about a command and an option, the types of options, and the options of one command line.

A type converts a word; it raises ValueError with what the word must be, or UsageError.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from loadtop.analysis.comparison import By
    from loadtop.analysis.fail_if import Condition
    from loadtop.analysis.tune.controller import StepSearch, TimeLimits
    from loadtop.generator.plan import Plan
    from loadtop.i18n import Translatable

HERE = ("local", "psutil")  # places that are this machine: read from /proc if there is one, or through psutil

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


def is_ssh_place(place: str) -> bool:
    """Whether it is ``ssh://[USER@]HOST[:PORT]`` with a valid port."""
    return _has_port(_SSH_PLACE.fullmatch(place))


def _has_port(found: re.Match[str] | None) -> bool:
    return found is not None and 0 < int(found["port"] or 22) < 65536


def watched_host(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--host '{text}': write NAME=local or NAME=ssh://[USER@]HOST[:PORT]")
    if place not in HERE and not is_ssh_place(place):
        raise UsageError(f"--host '{text}': the place is local, psutil or ssh://[USER@]HOST[:PORT]")
    return name, place


def generator(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not equals or not name or not (place == "local" or is_ssh_place(place)):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def jmeter_servers(text: str) -> tuple[str, ...]:
    servers = tuple(text.split(","))
    if len(set(servers)) < len(servers) or not all(_has_port(_JMETER_SERVER.fullmatch(server)) for server in servers):
        raise UsageError(f"-R '{text}': write HOST,HOST or HOST:PORT,HOST:PORT, each of them once")
    return servers


def condition(text: str) -> "Condition":
    from loadtop.analysis.fail_if import Condition, ConditionError

    try:
        return Condition.parse(text)
    except ConditionError as error:
        raise UsageError(f"--fail-if: {error}") from None


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

    def given(self, options: "Options") -> bool:
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


@dataclass(frozen=True, slots=True)
class Command:
    """``usage`` is what follows ``loadtop``; ``module`` of ``loadtop.cli`` has ``main(options) -> exit code``.
    ``examples`` are also what follows ``loadtop``. ``parts`` are commands of its own, with what each does."""

    name: str
    usage: str
    summary: str
    module: str = ""
    examples: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()


class Options:
    """What one command line asks for. argparse sets the attributes that the table names (no ``argparse.Namespace``: its
    attributes are not checked); those with a value here are not options of every command that reads them. ``argv`` is
    the command line as it was given, ``words`` without the options of every command, secrets included; ``program`` is
    the command that ``watch`` runs; ``hosts`` and ``generators`` are pairs of a name and a place.

    The attributes of the last block follow from several options: the load of ``run`` and ``tune``; the attributes of
    the HTML table, its rows and cells; status URLs by host and kind of server; the hosts that generate load for another
    engine; the text of the user's locustfile; the bounds of ``tune``.
    """

    command: str
    argv: tuple[str, ...] = ()
    words: tuple[str, ...]
    program: tuple[str, ...] = ()
    lang: str | None
    theme: str | None
    ascii: bool

    urls: list[str]
    requests: int | None
    concurrency: int | None
    time: float | None = None
    rate: float | None
    steps: str | None = None
    step_time: float | None
    warmup: float = 0.0
    workers: int
    yes: bool = False
    first: int
    finer: int
    most_step_time: float | None
    url_file: Path | None
    keepalive: bool
    method: str | None
    head: bool
    post: Path | None
    put: Path | None
    content_type: str | None
    header: list[str]
    cookie: list[str]
    auth: str | None
    any_length: bool
    timeout: float
    keep_going: bool
    verbosity: int = 0
    proxy: str | None
    proxy_auth: str | None
    buffer: int | None
    bind: str | None
    protocol: str | None
    ciphers: str | None
    certificate: str | None
    no_sni: bool
    insecure: bool
    engine: str = "builtin"
    generators: list[tuple[str, str]]
    user_plan: Path | None
    servers: tuple[str, ...] = ()

    hosts: list[tuple[str, str]]
    interval: float
    links: list[tuple[str, float]]
    headless: bool = False
    quiet: bool = False
    text: bool
    markdown: bool
    json: str | None = None
    html: Path | None = None
    record: Path | None
    no_record: bool
    fail_if: "list[Condition]"
    strict: bool
    ab: bool = False
    no_percentiles: bool = False
    no_spread: bool = False
    percentiles_csv: Path | None = None
    gnuplot: Path | None = None
    as_html: bool = False
    table_attributes: str | None = None
    tr_attributes: str | None = None
    td_attributes: str | None = None

    plan_file: Path
    out: Path | None
    again: bool
    check: bool
    table: bool
    session: Path
    sessions: list[Path]
    by: "By | None"
    margin: float
    all: bool
    csv: Path | None
    jsonl: str | None
    sqlite: Path | None
    sar: bool
    host: str | None
    cast: Path | None
    size: str
    mark: str
    running: str | None
    part: str | None
    name: str
    older_than: str | None
    keep: int | None
    dry_run: bool
    topic: list[str]

    plan: "Plan"
    html_table: tuple[str, str, str] | None = None
    status_urls: dict[str, dict[str, list[str]]]
    load_hosts: frozenset[str] = frozenset()
    locustfile: str | None = None
    search: "StepSearch"
    limits: "TimeLimits"
