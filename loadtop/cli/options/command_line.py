"""The command line as a complete, checked description of what to do. Nothing is started here."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.engine import EngineChoice, engine_choice, take_url_of_plan
from loadtop.cli.options.parser import is_ssh_place, read
from loadtop.cli.options.table import AB_REPORTS
from loadtop.servers.kind import AnyKind
from loadtop.servers.registry import KINDS

if TYPE_CHECKING:
    from loadtop.analysis.fail_if import Condition
    from loadtop.cli.options.tune import TuneSettings
    from loadtop.generator.plan import Plan

HERE = ("local", "psutil")
"""Places that are this machine: read from /proc if there is one, or through psutil if asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is written where. ``json`` is ``-`` for standard output. ``ab`` asks for ab's report instead of loadtop's,
    ``ab_percentiles`` and ``ab_spread`` for parts of it; ``html_table`` for that report as an HTML table, with the
    attributes of its table, rows and cells."""

    headless: bool = False
    json: str | None = None
    html: Path | None = None
    ab: bool = False
    ab_percentiles: bool = True
    ab_spread: bool = True
    percentiles_csv: Path | None = None
    gnuplot: Path | None = None
    html_table: tuple[str, str, str] | None = None
    record: Path | None = None
    no_record: bool = False
    fail_if: "tuple[Condition, ...]" = ()
    strict: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Which hosts and status pages are watched. ``hosts`` are (name, place). ``status_urls`` has, for each kind of
    server, pairs of a host's name, None for the first host, and a URL. ``link_mbit`` is the speed of network interfaces
    whose speed the kernel does not report. ``generators`` names hosts that generate load for another engine."""

    hosts: tuple[tuple[str, str], ...] = (("local", "local"),)
    status_urls: Mapping[str, tuple[tuple[str | None, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[str | None, str], ...]]
    )
    interval_s: float = 1.0
    link_mbit: int | None = None
    generators: frozenset[str] = frozenset()

    def urls_on(self, host: str) -> dict[str, list[str]]:
        """The status pages of one host by kind of server."""
        first = self.hosts[0][0]
        return {
            kind: [url for owner, url in pages if (owner or first) == host] for kind, pages in self.status_urls.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to do. ``words`` are the command line, secrets included. ``program`` is the command that ``watch`` runs."""

    command: str
    words: tuple[str, ...] = ()
    plan: "Plan | None" = None
    watching: Watching = field(default_factory=Watching)
    output: Output = field(default_factory=Output)
    duration_s: float | None = None
    tune: "TuneSettings | None" = None
    program: tuple[str, ...] = ()
    engine: EngineChoice = field(default_factory=EngineChoice)


def parse(words: Sequence[str]) -> Options:
    """Understand the words of a command that runs a test or examines hosts. Raises UsageError; raises SystemExit for
    ``--help`` and ``--version``."""
    return checked(read(words))


def checked(arguments: argparse.Namespace) -> Options:
    """The arguments of such a command, checked together. Raises UsageError; reads bodies, URL lists and plans."""
    command: str = arguments.command
    program: tuple[str, ...] = arguments.program
    options = Options(
        command=command,
        words=tuple(arguments.words if command == "run" else (command, *arguments.words)),
        watching=_watching(arguments, generates=command not in ("watch", "doctor") or bool(program)),
        program=program,
    )
    if command == "doctor":
        return replace(options, output=Output(json=arguments.json))
    if command in ("run", "tune"):
        take_url_of_plan(arguments)
        engine = engine_choice(arguments)
        options = replace(options, engine=engine, watching=_with_generators(options.watching, engine))
    if command == "tune":
        from loadtop.cli.options.tune import tune_plan, tune_settings

        settings = tune_settings(arguments)
        options = replace(options, tune=settings, plan=tune_plan(arguments, settings))
    elif command == "run":
        from loadtop.cli.options.load import build_plan

        options = replace(options, plan=build_plan(arguments))
    elif command == "watch":
        _check_ab_reports(arguments)
        options = replace(options, duration_s=arguments.time)
    return replace(options, output=_output(arguments, options.watching))


def _check_ab_reports(arguments: argparse.Namespace) -> None:
    given = next((option.name for option in AB_REPORTS.taken_by("watch") if option.given(arguments)), None)
    if given is not None and not arguments.program:
        raise UsageError(f"{given} is about a load: leave it out of watch, or give a command after --")


def _watching(arguments: argparse.Namespace, *, generates: bool) -> Watching:
    """``generates``: this machine generates load, so it is watched beside the hosts that are given."""
    hosts: list[tuple[str, str]] = []
    for text in arguments.host:
        name, equals, place = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--host '{text}': write NAME=local or NAME=ssh://[USER@]HOST[:PORT]")
        if place not in HERE and not is_ssh_place(place):
            raise UsageError(f"--host '{text}': the place is local, psutil or ssh://[USER@]HOST[:PORT]")
        if name in (known for known, _ in hosts):
            raise UsageError(f"--host: the name {name} is given twice")
        hosts.append((name, place))
    if hosts and generates and all(place not in HERE for _, place in hosts):
        taken = {name for name, _ in hosts}
        hosts.append((next(name for name in ("local", "generator", "this-machine") if name not in taken), "local"))
    hosts = hosts or [("local", "local")]
    names = [name for name, _ in hosts]
    return Watching(
        hosts=tuple(hosts),
        status_urls={
            kind.name: tuple(_status_url(kind, text, names) for text in getattr(arguments, kind.name)) for kind in KINDS
        },
        interval_s=arguments.interval,
        link_mbit=None if arguments.link is None else max(1, round(arguments.link)),
    )


def _status_url(kind: AnyKind, text: str, hosts: Sequence[str]) -> tuple[str | None, str]:
    name, _, url = text.partition(":")
    if name in hosts and re.fullmatch(kind.option.pattern, url):
        return name, url
    if not re.fullmatch(kind.option.pattern, text):
        raise UsageError(f"--{kind.name} '{text}': write [NAME:]{kind.option.forms}; hosts are {', '.join(hosts)}")
    return None, text


def _with_generators(watching: Watching, engine: EngineChoice) -> Watching:
    known = dict(watching.hosts)
    places = {place: name for name, place in watching.hosts}
    names: set[str] = set()
    for name, place in engine.generators:
        if known.setdefault(name, place) != place:
            raise UsageError(f"--generator and --host call two machines {name}: rename one of them")
        names.add(places.get(place, name))
        if place in places and name not in dict(watching.hosts):
            del known[name]
    return replace(watching, hosts=tuple(known.items()), generators=frozenset(names))


def _output(arguments: argparse.Namespace, watching: Watching) -> Output:
    output = Output(
        headless=arguments.headless or getattr(arguments, "verbosity", 0) >= 2,
        json=arguments.json,
        html=arguments.html,
        record=arguments.record,
        no_record=arguments.no_record,
        fail_if=_conditions(arguments.fail_if, [name for name, _ in watching.hosts]) if arguments.fail_if else (),
        strict=arguments.strict,
        quiet=arguments.quiet,
    )
    if arguments.command == "tune":
        return output
    return replace(
        output,
        ab=arguments.ab,
        ab_percentiles=not arguments.no_percentiles,
        ab_spread=not arguments.no_spread,
        percentiles_csv=getattr(arguments, "percentiles_csv", None),
        gnuplot=getattr(arguments, "gnuplot", None),
        html_table=_html_table(arguments),
    )


def _html_table(arguments: argparse.Namespace) -> tuple[str, str, str] | None:
    """The attributes of the HTML table's elements; each of them asks for the table, as -w does."""
    table, row, cell = arguments.html_table, arguments.html_tr, arguments.html_td
    if not arguments.as_html and table is None and row is None and cell is None:
        return None
    if arguments.ab:
        raise UsageError("--ab and -w contradict each other: both are ab's report; give one of them")
    return table or "", row or "", "bgcolor=white" if cell is None else cell


def _conditions(texts: Sequence[str], hosts: Sequence[str]) -> "tuple[Condition, ...]":
    from loadtop.analysis.fail_if import Condition, ConditionError

    try:
        conditions = tuple(Condition.parse(text) for text in texts)
    except ConditionError as error:
        raise UsageError(f"--fail-if: {error}") from None
    for condition in conditions:
        if condition.host is not None and condition.host not in hosts:
            raise UsageError(
                f"--fail-if '{condition.text}': no host is called {condition.host}; hosts are {', '.join(hosts)}"
            )
    return conditions
