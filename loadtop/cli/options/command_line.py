"""The options of a command line, checked together and completed by what follows from them. Nothing is started here."""

import re
from collections.abc import Sequence

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.engine import check_engine, take_url_of_plan
from loadtop.cli.options.option import Options
from loadtop.cli.options.parser import read
from loadtop.cli.options.table import AB_REPORTS
from loadtop.cli.options.values import HERE
from loadtop.generator.target import PlanError
from loadtop.servers.kind import AnyKind
from loadtop.servers.registry import KINDS


def parse(words: Sequence[str]) -> Options:
    """Understand the words of a command that runs a test or examines hosts. Raises UsageError; raises SystemExit for
    ``--help`` and ``--version``."""
    return checked(read(words))


def checked(options: Options) -> Options:
    """The options of such a command. Raises UsageError; reads bodies, URL lists and plans."""
    _complete_hosts(options)
    try:
        if options.command in ("run", "tune"):
            _complete_load(options)
    except PlanError as error:
        raise UsageError(error.message) from None
    if options.command == "watch" and not options.program:
        given = next((option.name for option in AB_REPORTS.taken_by("watch") if option.given(options)), None)
        if given is not None:
            raise UsageError(f"{given} is about a load: leave it out of watch, or give a command after --")
    if options.command != "doctor":
        _check_conditions(options)
        _complete_html_table(options)
    options.headless = options.headless or options.verbosity >= 2
    return options


def _complete_load(options: Options) -> None:
    from loadtop.cli.options.load import build_plan

    take_url_of_plan(options)
    check_engine(options)
    _watch_generators(options)
    if options.command == "tune":
        from loadtop.cli.options.tune import set_bounds

        set_bounds(options)
    options.plan = build_plan(options)


def _complete_hosts(options: Options) -> None:
    names = [name for name, _ in options.hosts]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise UsageError(f"--host: the name {name} is given twice")
    generates = options.command not in ("watch", "doctor") or bool(options.program)
    if options.hosts and generates and all(place not in HERE for _, place in options.hosts):
        own = next(name for name in ("local", "generator", "this-machine") if name not in names)
        options.hosts = [*options.hosts, (own, "local")]
    options.hosts = options.hosts or [("local", "local")]
    names = [name for name, _ in options.hosts]
    options.status_urls = {
        kind.name: [_status_url(kind, text, names) for text in getattr(options, kind.name)] for kind in KINDS
    }


def _status_url(kind: AnyKind, text: str, hosts: Sequence[str]) -> tuple[str | None, str]:
    name, _, url = text.partition(":")
    if name in hosts and re.fullmatch(kind.option.pattern, url):
        return name, url
    if not re.fullmatch(kind.option.pattern, text):
        raise UsageError(f"--{kind.name} '{text}': write [NAME:]{kind.option.forms}; hosts are {', '.join(hosts)}")
    return None, text


def _watch_generators(options: Options) -> None:
    """Watch the hosts that generate load for another engine beside those that are given."""
    known = dict(options.hosts)
    names = {place: name for name, place in options.hosts}
    load_hosts: set[str] = set()
    for name, place in options.generators:
        if known.get(name, place) != place:
            raise UsageError(f"--generator and --host call two machines {name}: rename one of them")
        if place not in names:
            known[name] = place
        load_hosts.add(names.get(place, name))
    options.hosts, options.load_hosts = list(known.items()), frozenset(load_hosts)


def _check_conditions(options: Options) -> None:
    hosts = [name for name, _ in options.hosts]
    for condition in options.fail_if:
        if condition.host is not None and condition.host not in hosts:
            raise UsageError(
                f"--fail-if '{condition.text}': no host is called {condition.host}; hosts are {', '.join(hosts)}"
            )


def _complete_html_table(options: Options) -> None:
    """The attributes of the elements; each of them asks for the table, as -w does."""
    table, row, cell = (getattr(options, f"{element}_attributes", None) for element in ("table", "tr", "td"))
    if getattr(options, "as_html", False) or (table, row, cell) != (None, None, None):
        if options.ab:
            raise UsageError("--ab and -w contradict each other: both are ab's report; give one of them")
        options.html_table = (table or "", row or "", "bgcolor=white" if cell is None else cell)
