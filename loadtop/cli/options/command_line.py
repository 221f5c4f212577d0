"""The options of a command line, checked together and completed by what follows from them. Nothing is started here."""

import re
from collections.abc import Sequence
from pathlib import Path

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.options.parser import read
from loadtop.cli.options.table import AB_REPORTS, TUNE_CONNECTIONS, TUNE_STEP_S, TUNE_TOTAL_S, options_of
from loadtop.cli.options.values import HERE
from loadtop.generator.plan import PlanError
from loadtop.i18n import Message, Translatable
from loadtop.servers.status_option import StatusOption
from loadtop.servers.status_options import STATUS_OPTIONS

SHORTEST_STEP = 3
"""Intervals of the shortest step that can be judged: four samples for the steady state, and one before them."""


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
    options.status_urls = {name: {page.name: [] for page in STATUS_OPTIONS} for name in names}
    for page in STATUS_OPTIONS:
        for text in getattr(options, page.name):
            host, url = _status_url(page, text, names)
            options.status_urls[host][page.name].append(url)


def _status_url(page: StatusOption, text: str, hosts: Sequence[str]) -> tuple[str, str]:
    name, _, url = text.partition(":")
    if name in hosts and re.fullmatch(page.pattern, url):
        return name, url
    if not re.fullmatch(page.pattern, text):
        raise UsageError(f"--{page.name} '{text}': write [NAME:]{page.forms}; hosts are {', '.join(hosts)}")
    return hosts[0], text


def _complete_load(options: Options) -> None:
    from loadtop.cli.options.load import build_plan

    file = options.user_plan
    if options.engine == "jmeter" and file is not None and not options.urls and options.url_file is None:
        options.urls = [_url_of_plan(options, file)]
    _check_engine(options)
    _watch_generators(options)
    if options.command == "tune":
        _set_bounds(options)
    options.plan = build_plan(options)


def _check_engine(options: Options) -> None:
    """Raise UsageError for what the engine cannot do; read the user's plan and check its syntax."""
    name = options.engine
    for option in options_of("run"):
        if name in option.refused and option.given(options):
            text: Translatable = "{option} is not possible with --engine {engine}: {advice}"
            raise UsageError(Message(text, option=option.name, engine=name, advice=Message(option.refused[name])))
    if name == "builtin":
        return
    if not options.generators and not options.servers:
        options.generators = [("local", "local")]
    names = [each for each, _ in options.generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: a name is given twice among {', '.join(names)}")
    file = options.user_plan
    if file is None:
        return
    text = _read_plan(options, file)
    if name == "locust":
        try:
            compile(text, str(file), "exec")
        except (SyntaxError, ValueError) as error:
            place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise UsageError(f"the plan {file}{place} is not Python: {getattr(error, 'msg', error)}") from None
        options.locustfile = text


def _url_of_plan(options: Options, file: Path) -> str:
    """The server that a user's plan for JMeter names."""
    from loadtop.engines.jmeter.plan import read_user_plan

    _read_plan(options, file)
    url = read_user_plan(file).url()
    if url is None:
        raise UsageError(f"the plan {file} names its server by variables: give the URL of the server that it loads")
    return url


def _read_plan(options: Options, file: Path) -> str:
    """The user's plan. Raises UsageError for options that the plan replaces."""
    suffix = ".py" if options.engine == "locust" else ".jmx"
    if file.suffix != suffix:
        raise UsageError(f"--plan {file}: --engine {options.engine} needs a FILE{suffix}")
    for option in options_of("run"):
        if options.engine in option.own_plan and option.given(options):
            raise UsageError(f"{option.name} has no effect with --plan: {file} says what to request; leave it out")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None


def _watch_generators(options: Options) -> None:
    """Watch the hosts that generate load for another engine beside those that are given."""
    known = dict(options.hosts)
    names = {place: name for name, place in options.hosts}
    for name, place in options.generators:
        if known.get(name, place) != place:
            raise UsageError(f"--generator and --host call two machines {name}: rename one of them")
        if place not in names:
            known[name] = place
    options.hosts = list(known.items())
    options.load_hosts = frozenset(names.get(place, name) for name, place in options.generators)


def _set_bounds(options: Options) -> None:
    """The bounds of ``tune``. Raises UsageError if they contradict each other."""
    from loadtop.analysis.tune.controller import StepSearch, TimeLimits

    most = options.concurrency or TUNE_CONNECTIONS
    if options.first > most:
        raise UsageError(f"--from {options.first} is above -c {most}: raise -c or lower --from")
    if options.finer > 50:
        raise UsageError(f"--finer {options.finer} is out of range: give 0 to 50")
    step_s = options.step_time or TUNE_STEP_S
    most_step_s = options.most_step_time or 4 * step_s
    if most_step_s < step_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is below --step-time {step_s:g}: raise it")
    shortest_s = SHORTEST_STEP * options.interval
    if most_step_s < shortest_s:
        raise UsageError(
            f"steps of {most_step_s:g} s at most are too short to judge: give --step-time {shortest_s:g} or more"
        )
    total_s = options.time or TUNE_TOTAL_S
    if total_s < 2 * step_s:
        raise UsageError(f"-t {total_s:g} is too short for steps of {step_s:g} s: raise it or lower --step-time")
    options.search = StepSearch(options.first, most, options.finer)
    options.limits = TimeLimits(step_s, most_step_s, total_s)


def _check_conditions(options: Options) -> None:
    hosts = [name for name, _ in options.hosts]
    for condition in options.fail_if:
        if condition.host is not None and condition.host not in hosts:
            raise UsageError(
                f"--fail-if '{condition.text}': no host is called {condition.host}; hosts are {', '.join(hosts)}"
            )


def _complete_html_table(options: Options) -> None:
    """The attributes of the elements; each of them asks for the table, as -w does."""
    table, row, cell = options.table_attributes, options.tr_attributes, options.td_attributes
    if options.as_html or (table, row, cell) != (None, None, None):
        if options.ab:
            raise UsageError("--ab and -w contradict each other: both are ab's report; give one of them")
        options.html_table = (table or "", row or "", "bgcolor=white" if cell is None else cell)
