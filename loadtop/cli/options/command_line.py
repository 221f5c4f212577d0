"""The command line: from words to a checked, complete description of what to do. Nothing is read or started here."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from loadtop import __version__
from loadtop.analysis.fail_if import Condition, ConditionError
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.engine import EngineChoice, add_engine, complete, engine_choice, is_ssh_place
from loadtop.cli.options.load import add_load, build_plan, interval, positive
from loadtop.cli.options.report import check_reports, hide, refused_by
from loadtop.generator.plan import Plan

if TYPE_CHECKING:
    from loadtop.cli.options.tune import TuneSettings

COMMANDS = ("run", "watch", "tune", "demo", "replay", "report", "sessions", "doctor")

HERE = ("local", "psutil")
"""Places that are this machine: read from /proc where there is one, or through psutil by choice."""

HOST_HELP = "machine to watch: NAME=local or NAME=ssh://[USER@]HOST[:PORT], an alias of ssh's configuration too"
FPM_HELP = "php-fpm's status page: http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status"
HAPROXY_HELP = "HAProxy's statistics: http://HOST:PORT/stats or unix:/run/haproxy/admin.sock"
_PAGES = {
    "--apache": (re.compile(r"https?://.+"), "http://HOST/server-status"),
    "--fpm": (
        re.compile(r"https?://.+|(?:fcgi|tcp)://[^/]+:\d+(?:/.*)?|(?:unix|fcgi):(?://)?/(?!/).+"),
        "http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status",
    ),
    "--haproxy": (
        re.compile(r"https?://.+|tcp://[^/]+:\d+/?|(?:unix:(?://)?)?/(?!/).+"),
        "http://HOST:PORT/stats or unix:/run/haproxy/admin.sock",
    ),
}
"""What the URL of a status page can be, and how that is said."""

USAGE = """\
loadtop [OPTIONS] URL [URL ...]     run a load test and watch it (the same as `loadtop run`)
loadtop watch [OPTIONS] [-- COMMAND ...]   watch only; or run a command (ab, wrk, a script) in the load pane
loadtop tune [OPTIONS] URL          step the concurrency up to the knee; recommend the worker limit
loadtop experiment PLAN.toml        a matrix: server variants x load steps; prints the table
loadtop demo [OPTIONS]              a server and a load of its own: shows everything with nothing set up
loadtop replay SESSION              the cockpit again, from a recording
loadtop report SESSION              the report: --text, --ab, --markdown, --html FILE or --json FILE
loadtop compare SESSION SESSION ... runs side by side, with direction and significance
loadtop export SESSION              for other tools: --csv DIR, --jsonl FILE, --sar, --cast FILE
loadtop mark TEXT                   note a moment in a test that runs: --session FILE where there are several
loadtop sessions [list | rename | prune]   choose a recording to replay or compare; list, rename, remove
loadtop doctor [--host ...]         say what can be read of each machine, what cannot, and the fix
loadtop help [TOPIC]                how it differs from ab, how it makes load, what scripts need, a PLAN

every one of them: --lang en|ja (else the locale chooses), --ascii (draw with ASCII only),
--theme terminal|dark|light|safe (terminal: its own 16 colours; safe: for the colour-blind)
"""

ABOUT = {
    "watch": "Watch only. With -- COMMAND ... at the end, run that (ab, wrk, a script) in the load pane meanwhile.",
    "tune": "Step the concurrency up to the knee; say what is the limit there and what to set the worker limit to.",
    "demo": "Start a server, load it for a minute, and show what loadtop shows; nothing of it stays.",
    "replay": "Show a recording in the cockpit again.",
    "report": "Print the report of a recording, or write it to a file.",
    "doctor": "Say for each machine and panel what can be read, what cannot, and what to type or paste that fixes it.",
}
"""What ``--help`` of a verb says first."""

SESSION_HELP = "a recording: a file, or its name in the state directory (loadtop sessions list)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is written where. ``json`` may be ``-`` for standard output. ``ab`` asks for ab's report in place of ours,
    ``ab_percentiles`` and ``ab_spread`` for those parts of it; ``html_table`` asks for it as a table, and
    holds the attributes of its table, rows and cells."""

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
    fail_if: tuple[Condition, ...] = ()
    strict: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Which machines and status pages are watched. ``apache``, ``fpm`` and ``haproxy`` hold (host name or ``None``,
    URL). ``link_mbit`` is the speed of lines that do not tell theirs. ``generators`` names the machines that generate
    the load by another engine."""

    hosts: tuple[tuple[str, str], ...] = (("local", "local"),)
    apache: tuple[tuple[str | None, str], ...] = ()
    fpm: tuple[tuple[str | None, str], ...] = ()
    haproxy: tuple[tuple[str | None, str], ...] = ()
    interval_s: float = 1.0
    link_mbit: int | None = None
    generators: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything one call of loadtop was asked for. ``session`` is a recording's path (``replay``, ``report``),
    ``program`` the command that ``watch`` runs."""

    command: str
    plan: Plan | None = None
    watching: Watching = field(default_factory=Watching)
    output: Output = field(default_factory=Output)
    session: Path | None = None
    duration_s: float | None = None
    text: bool = False
    markdown: bool = False
    tune: "TuneSettings | None" = None
    program: tuple[str, ...] = ()
    engine: EngineChoice = field(default_factory=EngineChoice)


class Parser(argparse.ArgumentParser):
    """Says what is wrong as a UsageError, in one line."""

    def error(self, message: str) -> NoReturn:
        _, unknown, words = message.partition("unrecognized arguments: ")
        place = next(filter(is_ssh_place, words.split()), "") if unknown else ""
        if place:
            raise UsageError(f"{place}: a machine to watch is given with its name: --host NAME={place}")
        raise UsageError(f"{message} (see {self.prog} --help)")


def file_name(text: str) -> Path:
    """A file to write, which standard output cannot stand for. For argparse."""
    if text == "-":
        raise argparse.ArgumentTypeError("- is not possible here: give the name of a file")
    return Path(text)


def parse(argv: Sequence[str]) -> Options:
    """Understand the command line (without the program's name). Raises UsageError; exits for --help and --version."""
    command, rest = (argv[0], argv[1:]) if argv and argv[0] in COMMANDS else ("run", argv)
    rest, program = _apart(rest) if command == "watch" else (rest, ())
    arguments = _parser(command).parse_args(list(rest))
    if command in ("replay", "report"):
        output = Output(
            json=getattr(arguments, "json", None),
            html=getattr(arguments, "html", None),
            headless=getattr(arguments, "headless", False),
            ab=getattr(arguments, "ab", False),
        )
        return Options(
            command=command,
            session=arguments.session,
            output=output,
            text=getattr(arguments, "text", False),
            markdown=getattr(arguments, "markdown", False),
        )
    if command == "sessions":
        return Options(command=command)
    watching = _watching(arguments, generates=command not in ("watch", "doctor") or bool(program))
    if command == "doctor":
        return Options(command=command, watching=watching, output=Output(json=arguments.json))
    if command in ("run", "tune"):
        complete(arguments)
    engine = engine_choice(arguments) if command in ("run", "tune") else EngineChoice()
    watching = _with_generators(watching, engine)
    output = _output(arguments, watching)
    check_reports(arguments, command, program=bool(program), engine=engine.name)
    if command == "tune":
        from loadtop.cli.options.tune import tune_plan, tune_settings

        settings = tune_settings(arguments)
        swept = tune_plan(arguments, settings)
        return Options(command=command, plan=swept, watching=watching, output=output, tune=settings, engine=engine)
    plan = build_plan(arguments) if command == "run" else None
    return Options(
        command=command,
        plan=plan,
        watching=watching,
        output=output,
        duration_s=getattr(arguments, "time", None),
        program=program,
        engine=engine,
    )


def _with_generators(watching: Watching, engine: EngineChoice) -> Watching:
    """The machines that generate the load are watched too."""
    known = dict(watching.hosts)
    places = {place: name for name, place in watching.hosts}
    names: set[str] = set()
    for name, place in engine.generators:
        if known.setdefault(name, place) != place:
            raise UsageError(f"--generator and --host call two machines {name}: give one another name")
        names.add(places.get(place, name))
        if place in places and name not in dict(watching.hosts):
            del known[name]
    return replace(watching, hosts=tuple(known.items()), generators=frozenset(names))


def _apart(words: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """Our own words, and the command that follows ``--``."""
    if "--" not in words:
        return words, ()
    place = list(words).index("--")
    program = tuple(words[place + 1 :])
    if not program:
        raise UsageError("no command follows --: for example loadtop watch -- ab -n 1000 -c 10 http://127.0.0.1/")
    return words[:place], program


def _parser(command: str) -> Parser:
    parser = Parser(
        prog="loadtop" if command == "run" else f"loadtop {command}",
        usage=USAGE if command == "run" else None,
        description=ABOUT.get(command, "Load-test Apache in the terminal and see what is the limit."),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("-h", "--help", action="help", help="show this and exit")
    if command == "run":
        parser.add_argument("-V", "--version", action="version", version=f"loadtop {__version__}")
    if command == "tune":
        from loadtop.cli.options.tune import add_tune

        add_tune(parser)
    if command in ("run", "tune"):
        parser.add_argument("urls", nargs="*", metavar="URL", help="what to request")
        add_load(parser)
        add_engine(parser)
    if command in ("run", "watch", "tune", "demo", "doctor"):
        _add_monitoring(parser)
    if command in ("run", "watch", "tune", "demo"):
        _add_output(parser)
        hide(parser, refused_by(command))
    if command == "tune":
        from loadtop.cli.options.tune import hide_refused

        hide_refused(parser)
    elif command == "watch":
        parser.add_argument("-t", "--time", type=positive, metavar="SECONDS", help="end after that time")
    elif command == "doctor":
        parser.add_argument("--json", metavar="FILE", help="write it as JSON (- for standard output)")
    elif command == "replay":
        parser.add_argument("session", type=Path, metavar="SESSION", help=SESSION_HELP)
        parser.add_argument("--headless", action="store_true", help="print a line per interval instead of the cockpit")
    elif command == "report":
        parser.add_argument("session", type=Path, metavar="SESSION", help=SESSION_HELP)
        parser.add_argument("--text", action="store_true", help="the report as text (default)")
        parser.add_argument("--ab", action="store_true", help="the report as ab would print it")
        parser.add_argument("--markdown", action="store_true", help="the report in Markdown, to paste")
        parser.add_argument("--html", type=file_name, metavar="FILE", help="the report as one page with charts")
        parser.add_argument("--json", metavar="FILE", help="the JSON summary (- for standard output)")
    return parser


def _add_monitoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("monitoring")
    group.add_argument("--host", action="append", default=[], metavar="NAME=PLACE", help=HOST_HELP)
    group.add_argument("--apache", action="append", default=[], metavar="[NAME:]URL", help="mod_status page")
    group.add_argument("--fpm", action="append", default=[], metavar="[NAME:]URL", help=FPM_HELP)
    group.add_argument("--haproxy", action="append", default=[], metavar="[NAME:]URL", help=HAPROXY_HELP)
    group.add_argument("--interval", type=interval, default=1.0, metavar="SECONDS", help="between samples (default 1)")
    group.add_argument("--link", type=positive, metavar="MBIT", help="speed of the lines that do not tell theirs")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--headless", action="store_true", help="a line per interval instead of the cockpit")
    add("-q", "--quiet", action="store_true", help="no line per interval")
    add("--json", metavar="FILE", help="write the JSON summary (- for standard output)")
    add("--html", type=file_name, metavar="FILE", help="write the report as one page with charts")
    add("--ab", action="store_true", help="ab's report in place of ours")
    add("-d", dest="no_percentiles", action="store_true", help="--ab without percentiles")
    add("-S", dest="no_spread", action="store_true", help="--ab without medians and deviations")
    add("-e", "--percentiles-csv", type=file_name, metavar="FILE", help="write the percentiles as CSV")
    add("-g", "--gnuplot", type=file_name, metavar="FILE", help="write the times of each request, as ab does")
    add("-w", "--html-table", dest="as_html", action="store_true", help="ab's report as an HTML table")
    for letter, element in (("x", "table"), ("y", "tr"), ("z", "td")):
        add(f"-{letter}", dest=f"html_{element}", metavar="TEXT", help=f"-w, attributes of <{element}>")
    add("--record", type=file_name, metavar="FILE", help="where to record (default: the state directory)")
    add("--no-record", action="store_true", help="record nothing")
    add("--fail-if", action="append", default=[], metavar="EXPR", help="exit 1 if it holds: p99>500ms")
    add("--strict", action="store_true", help="exit 5 if the load generator was the bottleneck")


def _html_table(arguments: Any) -> tuple[str, str, str] | None:
    """The attributes for the elements of an HTML report; each of them asks for one, as -w does."""
    given: list[str | None] = [getattr(arguments, f"html_{element}") for element in ("table", "tr", "td")]
    if not arguments.as_html and given == [None, None, None]:
        return None
    if arguments.ab:
        raise UsageError("--ab and -w contradict each other: -w is ab's report too, as an HTML table; give one of them")
    table, row, cell = given
    return table or "", row or "", "bgcolor=white" if cell is None else cell


def _watching(arguments: Any, *, generates: bool) -> Watching:
    """``generates``: the load comes from this machine, which is then watched beside those that are given."""
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
    names = [name for name, _ in hosts] or ["local"]
    return Watching(
        hosts=tuple(hosts) or (("local", "local"),),
        apache=tuple(_placed("--apache", text, names) for text in arguments.apache),
        fpm=tuple(_placed("--fpm", text, names) for text in arguments.fpm),
        haproxy=tuple(_placed("--haproxy", text, names) for text in arguments.haproxy),
        interval_s=arguments.interval,
        link_mbit=None if arguments.link is None else max(1, round(arguments.link)),
    )


def _placed(option: str, text: str, names: Sequence[str]) -> tuple[str | None, str]:
    """Split ``NAME:URL``; a URL alone belongs to the first host."""
    form, forms = _PAGES[option]
    name, _, url = text.partition(":")
    if name in names and form.fullmatch(url):
        return name, url
    if not form.fullmatch(text):
        raise UsageError(f"{option} '{text}': write [NAME:]{forms}; hosts are {', '.join(names)}")
    return None, text


def _output(arguments: Any, watching: Watching) -> Output:
    if arguments.record is not None and arguments.no_record:
        raise UsageError("--record and --no-record contradict each other: give one of them")
    try:
        conditions = tuple(Condition.parse(text) for text in arguments.fail_if)
    except ConditionError as error:
        raise UsageError(f"--fail-if: {error}") from None
    names = [name for name, _ in watching.hosts]
    for condition in conditions:
        if condition.host is not None and condition.host not in names:
            raise UsageError(
                f"--fail-if '{condition.text}': no host is called {condition.host}, but {', '.join(names)}"
            )
    return Output(
        headless=arguments.headless or getattr(arguments, "verbosity", 0) >= 2,
        json=arguments.json,
        html=arguments.html,
        ab=arguments.ab,
        gnuplot=arguments.gnuplot,
        html_table=_html_table(arguments),
        ab_percentiles=not arguments.no_percentiles,
        ab_spread=not arguments.no_spread,
        percentiles_csv=arguments.percentiles_csv,
        record=arguments.record,
        no_record=arguments.no_record,
        fail_if=conditions,
        strict=arguments.strict,
        quiet=arguments.quiet,
    )
