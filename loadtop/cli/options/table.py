"""Every command and option, declared once; parser, ``--help`` and checks are built from this."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.cli.options import option as types
from loadtop.cli.options.option import COUNT, POSITIVE, Command, Group, Option, output_file
from loadtop.i18n import LANGUAGES, Translatable
from loadtop.servers.status_options import STATUS_OPTIONS

if TYPE_CHECKING:
    from loadtop.analysis.comparison import By
    from loadtop.analysis.fail_if import Condition
    from loadtop.analysis.tune.controller import StepSearch, TimeLimits
    from loadtop.generator.plan import Plan

COMMANDS = {
    command.name: command
    for command in (
        Command("run", "[run] [OPTIONS] URL [URL ...]", "run a load test and watch it", "run",
            ("http://127.0.0.1/", "-k -c 50 -t 60 http://web1/", "--host web=ssh://web1 -c 20 http://web1/index.php",
             "--headless --json - --fail-if 'p99>500ms' -n 1000 http://web1/")),
        Command("tune", "tune [OPTIONS] URL", "find the best number of connections and of server workers", "run",
            ("tune http://127.0.0.1/", "tune -c 64 -t 90 --host web=ssh://web1 http://web1/index.php")),
        Command("compare", "compare [OPTIONS] SESSION SESSION ...", "compare runs, and tell real changes from chance",
            "compare", ("compare before.loadtop after.loadtop",)),
        Command("watch", "watch [OPTIONS] [-- COMMAND ...]",
            "watch hosts without load, or while a command runs", "run",
            ("watch --host web=ssh://web1 --host db=ssh://root@db1:2222", "watch -- ab -n 10000 -c 20 http://127.0.0.1/")),
        Command("experiment", "experiment [OPTIONS] PLAN.toml",
            "measure variants of a server under several loads", "experiment",
            ("experiment plan.toml", "experiment --check plan.toml")),
        Command("demo", "demo [OPTIONS]", "load-test a demo server to show what loadtop does", "run",
            ("demo", "demo --headless --fast")),
        Command("replay", "replay [OPTIONS] SESSION", "show a recording in the cockpit", "recordings",
            ("replay run.loadtop",)),
        Command("report", "report [OPTIONS] SESSION", "print or write the report of a recording", "recordings",
            ("report run.loadtop", "report --html report.html --json - run.loadtop")),
        Command("export", "export [OPTIONS] SESSION", "convert a recording for other tools", "export",
            ("export --csv tables run.loadtop", "export --sar --host web1 run.loadtop")),
        Command("mark", "mark [OPTIONS] TEXT", "mark an event on the timeline of a running test", "mark",
            ("mark 'restarted httpd'",)),
        Command("sessions", "sessions [list | rename | prune]",
            "list recordings, to replay, compare, rename or remove them", "recordings",
            ("sessions list", "sessions rename run.loadtop before", "sessions prune --older-than 30d --keep 20"),
            (("list", "list recordings, newest last"), ("rename", "rename a recording"),
             ("prune", "remove old recordings"))),
        Command("doctor", "doctor [OPTIONS]", "check access to each host and suggest fixes", "doctor",
            ("doctor --host web=ssh://web1",)),
        Command("help", "help [TOPIC [SHELL]]", "explain a topic, or the options of a command", "options.parser",
            ("help ab", "help tune")),
    )
}  # fmt: skip
START_WITH = 3
"""The first so many of the commands are those that a new user needs."""

TOPICS = {
    "ab": "differences from ab",
    "generator": "how load is generated: models, steps, workers",
    "scripts": "exit codes, --fail-if, the JSON summary",
    "plan": "the settings in a plan of `loadtop experiment`",
}
"""Texts of ``docs``; ``pyproject.toml`` has those that wheels include."""

COMPLETION = "completion"
ALL_TOPICS = {**TOPICS, COMPLETION: "completion for bash, zsh or fish"}

ENGINES = ("builtin", "locust", "jmeter")
THEMES = ("terminal", "dark", "light", "safe")
"""The terminal's own sixteen colours, or one of the palettes of ``tui.drawing.appearance``."""

DEFAULT_TIME_S, DEFAULT_CONCURRENCY = 30.0, 10  # of a load without -n, -t and -c, so that a bare URL shows something

DEFAULT_STEP_S = 10.0
TUNE_CONNECTIONS, TUNE_STEP_S, TUNE_TOTAL_S, TUNE_REFINEMENTS = 256, 5.0, 300.0, 5

INTERVAL = types.number(least=0.1)
"""Below 0.1 s, the kernel's clock ticks of 10 ms are too coarse for CPU shares, and watching costs too much."""

LOADS, MEASURES = ("run", "tune"), ("run", "tune", "watch", "demo")
LEAVE_OUT: Translatable = "leave it out, or use the built-in engine"
BUILTIN_ONLY: dict[str, Translatable] = {"locust": LEAVE_OUT, "jmeter": LEAVE_OUT}
PLANS = ("locust", "jmeter")
ADD_ENGINE: Translatable = "add --engine locust or --engine jmeter"
ADD_JMETER: Translatable = "add --engine jmeter"
TUNE_CHOOSES = {"tune": "it chooses the steps itself; leave the option out"}
TIMES = "the option needs the time of each request, and the command does not report that; leave it out"
SESSION = "recording: a file, or a name from `loadtop sessions list`"
JSON = "write the JSON summary (- for standard output)"

ARGUMENTS = Group("arguments", ())
LOAD = Group("load", LOADS)
TUNING = Group("tuning", ("tune",))
REQUESTS = Group("requests", LOADS)
CONNECTIONS = Group("connections and TLS", LOADS)
ENGINE = Group("engine", LOADS)
MONITORING = Group("monitoring", (*MEASURES, "doctor"))
OUTPUT = Group("output", MEASURES)
AB_REPORTS = Group("ab's report and files", ("run", "watch", "demo"),
    {"tune": "it has its own report; leave the option out, or see `loadtop report`"})  # fmt: skip
"""ab's reports on one load, which not every command generates."""

OPTIONS = Group("options", ())
EVERYWHERE = Group("general",
    (*COMMANDS, *(f"{command.name} {part}" for command in COMMANDS.values() for part, _ in command.parts)))  # fmt: skip

GROUPS = (ARGUMENTS, LOAD, TUNING, REQUESTS, CONNECTIONS, ENGINE, MONITORING, OUTPUT, AB_REPORTS, OPTIONS, EVERYWHERE)

_replaced = partial(REQUESTS.option, own_plan=PLANS)  # a user's own plan says what to request
_builtin = partial(CONNECTIONS.option, refused=BUILTIN_ONLY)


# fmt: off
class Options:
    """The contents of one command line. An option that is not given, or that the command does not have, has its
    default.

    No ``argparse.Namespace``: its attributes are not checked. Secrets are in it as they were given.
    """

    command: str
    argv: tuple[str, ...] = ()  # the command line as it was given
    words: tuple[str, ...]  # the command line without the options of every command
    program: tuple[str, ...] = ()  # the command that ``watch`` runs

    urls: list[str] = ARGUMENTS.option("urls", "URL", "URL to request", nargs="*", commands=LOADS)
    plan_file: Path = ARGUMENTS.option("plan_file", "PLAN.toml",
        "variants, loads and commands (see `loadtop help plan`)", Path, commands=("experiment",))
    session: Path = ARGUMENTS.option("session", "SESSION", SESSION, Path,
        commands=("replay", "report", "export", "sessions rename"))
    name: str = ARGUMENTS.option("name", "NAME", "the new name, with or without .loadtop",
        commands=("sessions rename",))
    sessions: list[Path] = ARGUMENTS.option("sessions", "SESSION",
        "recordings; the others are compared with the first", Path, nargs="*", commands=("compare",))
    mark: str = ARGUMENTS.option("mark", "TEXT", "what happened, such as 'restarted httpd'", commands=("mark",))
    topic: list[str] = ARGUMENTS.option("topic", "TOPIC", "a topic or a command; completion needs a SHELL", nargs="*",
        commands=("help",))

    requests: int | None = LOAD.option("-n --requests", "N", "stop after N requests", COUNT, own_plan=("jmeter",),
        refused={**TUNE_CHOOSES, "locust": "give a time with -t or --step-time"})
    concurrency: int | None = LOAD.option("-c --concurrency", "N",
        f"number of connections (default: {DEFAULT_CONCURRENCY}, or 1 with -n or -t; with --rate, no limit)", COUNT,
        help_for={"tune": f"maximum number of connections (default {TUNE_CONNECTIONS})"})
    time: float | None = LOAD.option("-t --time", "SECONDS",
        f"stop after SECONDS (default {DEFAULT_TIME_S:.0f}, unless -n or --steps is given)", POSITIVE,
        commands=(*LOADS, "watch"),
        help_for={"tune": f"stop the search after SECONDS (default {TUNE_TOTAL_S:.0f})",
            "watch": "stop after SECONDS"})
    rate: float | None = LOAD.option("--rate", "R", "start R requests/s, however slow the server is (open model)",
        POSITIVE, own_plan=PLANS, refused=TUNE_CHOOSES)
    steps: str | None = LOAD.option("--steps", "1,2,4",
        "run steps of 1, 2, then 4 connections (with --rate R: 1, 2, then 4 requests/s; R itself is ignored)",
        own_plan=("jmeter",), refused=TUNE_CHOOSES)
    step_time: float | None = LOAD.option("--step-time", "S",
        f"length of each step in seconds (default {DEFAULT_STEP_S:.0f}); with -n, each step ends after N requests",
        POSITIVE,
        help_for={"tune": f"minimum length of a step in seconds (default {TUNE_STEP_S:.0f})"})
    warmup: float = LOAD.option("--warmup", "S", "leave the first S seconds out of the statistics",
        types.number(least=0), default=0.0,
        refused={"tune": "it waits until each step is steady; leave the option out"})
    workers: int = LOAD.option("--workers", "N",
        "number of generator processes (Locust: on each machine); `auto` adds processes on demand (built-in generator "
        "only)",
        types.workers, default=1, refused={"jmeter": "leave it out; one process uses all cores"})
    yes: bool = LOAD.option("--yes", "", "do not ask before a large load on a public address",
        commands=(*LOADS, "experiment"))

    first: int = TUNING.option("--from", "N", "start with N connections", COUNT, default=1)
    finer: int = TUNING.option("--finer", "N", "number of extra steps near the knee",
        types.number(whole=True, least=0), default=TUNE_REFINEMENTS)
    most_step_time: float | None = TUNING.option("--most-step-time", "S",
        "maximum length, in seconds, of a step with unsteady throughput (default 4 times --step-time)", POSITIVE)

    url_file: Path | None = _replaced("--urls", "FILE",
        "request the URLs of a file; each line: URL [WEIGHT [METHOD [BODYFILE]]]", Path)
    keepalive: bool = _replaced("-k --keepalive", "", "reuse connections")
    method: str | None = _replaced("-m --method", "NAME", "request method")
    head: bool = _replaced("-i --head", "", "send HEAD instead of GET", conflict="body")
    post: Path | None = _replaced("-p --post", "FILE", "POST the contents of a file", Path, conflict="body")
    put: Path | None = _replaced("-u --put", "FILE", "PUT the contents of a file", Path, conflict="body")
    content_type: str | None = _replaced("-T --content-type", "TYPE", "content type of the body (default text/plain)")
    header: list[str] = _replaced("-H --header", "LINE",
        "add a header; @FILE: all headers in a file, one per line; repeatable", repeatable=True)
    cookie: list[str] = _replaced("-C --cookie", "NAME=VALUE", "add a cookie; @FILE: from a file; repeatable",
        repeatable=True)
    auth: str | None = _replaced("-A --auth", "USER:PASSWORD", "use Basic authentication; @FILE: from a file")
    traceparent: bool = REQUESTS.option("--traceparent", "",
        "send a traceparent header with a new trace id in each request", refused=BUILTIN_ONLY)
    any_length: bool = REQUESTS.option("-l --any-length", "", "accept bodies that differ in length")
    timeout: float = REQUESTS.option("-s --timeout", "SECONDS", "time limit of each request", POSITIVE,
        default=30.0)
    keep_going: bool = REQUESTS.option("-r --keep-going", "", "continue after ten failed connects in a row")
    verbosity: int = REQUESTS.option("-v --verbosity", "LEVEL",
        "1: show the slowest requests' headers in the report; 2: print all headers; 3: also each status code",
        types.number(whole=True, least=0), default=0, refused=BUILTIN_ONLY)

    proxy: str | None = _builtin("-X --proxy", "HOST:PORT", "use an HTTP proxy", own_plan=("jmeter",))
    proxy_auth: str | None = CONNECTIONS.option("-P --proxy-auth", "USER:PASSWORD",
        "use Basic authentication at the proxy; @FILE: from a file")
    buffer: int | None = _builtin("-b --buffer", "BYTES", "size of the socket buffers", COUNT)
    bind: str | None = _builtin("-B --bind", "ADDRESS", "connect from this local address")
    protocol: str | None = _builtin("-f --protocol", "PROTOCOL", "TLS version: TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL")
    ciphers: str | None = _builtin("-Z --ciphers", "SUITE", "TLS cipher suites")
    certificate: str | None = _builtin("-E --certificate", "FILE", "client certificate and key (PEM)")
    no_sni: bool = _builtin("-I --no-sni", "", "do not send the server's name in the TLS handshake")
    insecure: bool = CONNECTIONS.option("--insecure", "", "accept any TLS certificate")

    engine: str = ENGINE.option("--engine", "NAME", "what generates the load: builtin, locust or jmeter",
        default="builtin", choices=ENGINES)
    generators: list[tuple[str, str]] = ENGINE.option("--generator", "NAME=PLACE",
        "machine that generates the load: NAME=ssh://[USER@]HOST[:PORT] or NAME=local; repeatable",
        types.generator, repeatable=True, refused={"builtin": ADD_ENGINE})
    user_plan: Path | None = ENGINE.option("--plan", "FILE",
        "run your own plan: FILE.py for locust, FILE.jmx for jmeter", Path, refused={"builtin": ADD_ENGINE})
    servers: tuple[str, ...] = ENGINE.option("-R --remote", "HOST,HOST",
        "generate the load on these jmeter-servers, HOST or HOST:PORT",
        types.jmeter_servers, default=(),
        refused={"builtin": ADD_JMETER, "locust": ADD_JMETER, "tune": "use --generator instead"})

    hosts: list[tuple[str, str]] = MONITORING.option("--host", "NAME=PLACE",
        "watch a host: NAME=local, NAME=ssh://[USER@]HOST[:PORT] (HOST can be an alias from your ssh configuration), "
        "NAME=exec:COMMAND, where COMMAND starts a shell in a container, or NAME=psutil; repeatable. In the "
        "options below, NAME: selects the host (default: the first); addresses are as seen from that host",
        types.watched_host, repeatable=True)
    for _page in STATUS_OPTIONS:
        MONITORING.option(f"--{_page.name}", f"[NAME:]{_page.metavar}", f"{_page.help}: {_page.forms}", repeatable=True)
    interval: float = MONITORING.option("--interval", "SECONDS", "time between samples", INTERVAL, default=1.0)
    links: list[tuple[str, float]] = MONITORING.option("--link", "[NAME:]MBIT",
        "link speed of the host NAME in Mbit/s; if NAME is left out, of all hosts; repeatable",
        types.link, repeatable=True)
    profile: bool = MONITORING.option("--profile", "",
        "while the CPU is the limit, name the functions that use it (perf, py-spy, phpspy)", commands=MEASURES)

    headless: bool = OUTPUT.option("--headless", "",
        "print a line per interval instead of the full-screen display (cockpit)",
        commands=(*MEASURES, "replay", "experiment"),
        help_for={"experiment": "print the progress line by line instead of the cockpit"})
    quiet: bool = OUTPUT.option("-q --quiet", "", "with --headless: do not print a line per interval",
        commands=(*MEASURES, "experiment"), help_for={"experiment": "show no progress, only the table at the end"})
    text: bool = OUTPUT.option("--text", "", "print the report (default)", commands=("report", "compare"),
        conflict="report", help_for={"compare": "print text instead of the cockpit"})
    markdown: bool = OUTPUT.option("--markdown", "", "print the report in Markdown", commands=("report",),
        conflict="report")
    json: str | None = OUTPUT.option("--json", "FILE", JSON, commands=(*MEASURES, "report", "doctor", "compare"),
        help_for={"doctor": "write the checks as JSON (- for standard output)",
            "compare": "write the comparison as JSON (- for standard output)"})
    html: Path | None = OUTPUT.option("--html", "FILE", "write the report as a page with charts", output_file,
        commands=(*MEASURES, "report"))
    record: Path | None = OUTPUT.option("--record", "FILE",
        "record to this file (default: a new one in the state directory)", output_file, conflict="record")
    no_record: bool = OUTPUT.option("--no-record", "", "do not record", conflict="record")
    fail_if: "list[Condition]" = OUTPUT.option("--fail-if", "EXPR",
        "exit with 1 if this is true: 'p99>500ms'; repeatable", types.condition, repeatable=True)
    baseline: Path | None = OUTPUT.option("--baseline", "SESSION",
        "recording to compare with, as in --fail-if 'p99>baseline+10%'", Path)
    junit: Path | None = OUTPUT.option("--junit", "FILE", "write the --fail-if rules as test cases in JUnit XML",
        output_file)
    hdr: Path | None = OUTPUT.option("--hdr", "FILE", "write response times as an HdrHistogram log", output_file,
        commands=(*MEASURES, "export"))
    openmetrics: tuple[str, int] | None = OUTPUT.option("--openmetrics", "[ADDRESS:]PORT",
        "serve live metrics over HTTP, for Prometheus", types.listening_place)
    strict: bool = OUTPUT.option("--strict", "", "exit with 5 if the load generator was the limit")

    ab: bool = AB_REPORTS.option("--ab", "", "print ab's report instead of loadtop's",
        commands=("run", "watch", "demo", "report"), conflict="report")
    no_percentiles: bool = AB_REPORTS.option("-d", "", "leave out the percentiles (with --ab)")
    no_spread: bool = AB_REPORTS.option("-S", "", "leave out medians and deviations (with --ab)")
    percentiles_csv: Path | None = AB_REPORTS.option("-e --percentiles-csv", "FILE", "write the percentiles as CSV",
        output_file, refused={"watch": TIMES})
    gnuplot: Path | None = AB_REPORTS.option("-g --gnuplot", "FILE", "write the times of each request", output_file,
        refused={"watch": TIMES, "demo": "leave it out, or use `loadtop URL`", **BUILTIN_ONLY})
    as_html: bool = AB_REPORTS.option("-w --html-table", "", "print ab's report as an HTML table", conflict="report")
    table_attributes: str | None = AB_REPORTS.option("-x", "TEXT", "attributes of <table>; switches -w on")
    tr_attributes: str | None = AB_REPORTS.option("-y", "TEXT", "attributes of <tr>; switches -w on")
    td_attributes: str | None = AB_REPORTS.option("-z", "TEXT", "attributes of <td>; switches -w on")

    fast: bool = OPTIONS.option("--fast", "", "take 20 s instead of a minute", commands=("demo",))
    out: Path | None = OPTIONS.option("--out", "DIR",
        "directory for the results (default: PLAN.results beside the plan)", Path, commands=("experiment",))
    again: bool = OPTIONS.option("--again", "",
        "measure every cell (variant, load, repeat) again, not only missing and changed ones",
        commands=("experiment",), conflict="experiment")
    check: bool = OPTIONS.option("--check", "", "only check the plan", commands=("experiment",), conflict="experiment")
    table: bool = OPTIONS.option("--table", "", "measure nothing; print the table of the results so far",
        commands=("experiment",), conflict="experiment")
    by: "By | None" = OPTIONS.option("--by", "step|time",
        "align the runs by step or by time (default: by step, if the runs share two or more)", choices=("step", "time"),
        commands=("compare",))
    margin: float = OPTIONS.option("--margin", "PERCENT",
        "ignore differences below PERCENT (1.5 times that for p90 and p95, twice for p98 and above)",
        POSITIVE, default=5.0,
        commands=("compare",))
    all: bool = OPTIONS.option("--all", "", "also show values that do not differ", commands=("compare",))
    csv: Path | None = OPTIONS.option("--csv", "DIR",
        "write each table of the recording as a CSV file", Path, commands=("export",))
    jsonl: str | None = OPTIONS.option("--jsonl", "FILE",
        "write each row of the recording as a JSON line (- for standard output)",
        commands=("export",))
    sqlite: Path | None = OPTIONS.option("--sqlite", "FILE", "write the recording's tables to a new SQLite database",
        output_file, commands=("export",))
    sar: bool = OPTIONS.option("--sar", "", "print in the format of sar -u -P ALL -W -S -q -n DEV",
        commands=("export",))
    host: str | None = OPTIONS.option("--host", "NAME", "only this host (with --sar)", commands=("export",))
    cast: Path | None = OPTIONS.option("--cast", "FILE", "write the cockpit as an asciinema recording", output_file,
        commands=("export",))
    size: str = OPTIONS.option("--size", "COLUMNSxROWS", "size of the cockpit (with --cast)", default="120x40",
        commands=("export",))
    running: str | None = OPTIONS.option("--session", "FILE",
        "mark the test that records to FILE (default: the newest)", commands=("mark",))
    older_than: str | None = OPTIONS.option("--older-than", "AGE",
        "remove recordings that ended longer ago than AGE: 30d, 12h or 2w", commands=("sessions prune",))
    keep: int | None = OPTIONS.option("--keep", "N",
        "never remove the newest N; without --older-than, remove all others", COUNT, commands=("sessions prune",))
    dry_run: bool = OPTIONS.option("--dry-run", "", "only show what would be removed", commands=("sessions prune",))
    part: str | None  # the command of ``loadtop sessions``

    lang: str | None = EVERYWHERE.option("--lang", "|".join(LANGUAGES), "language (default: that of the locale)",
        choices=LANGUAGES)
    theme: str | None = EVERYWHERE.option("--theme", "NAME",
        "colours: terminal (the terminal's own 16), dark, light, safe (for the colour-blind)", choices=THEMES)
    ascii: bool = EVERYWHERE.option("--ascii", "", "draw with ASCII only")
    EVERYWHERE.option("-h --help", "", "show this help and exit")
    EVERYWHERE.option("-V --version", "", "show the version and exit", commands=("run",))

    # What follows from several options.
    plan: "Plan"
    html_table: tuple[str, str, str] | None = None  # the attributes of the table, its rows and its cells
    status_urls: dict[str, dict[str, list[str]]]  # by host and kind of server
    load_hosts: frozenset[str] = frozenset()  # the hosts that generate load for another engine
    locustfile: str | None = None  # its text
    search: "StepSearch"
    limits: "TimeLimits"
    most_by_hand: int | None = None  # how many connections a person may set by key
# fmt: on


def options_of(command: str) -> Iterator[Option]:
    for group in GROUPS:
        yield from group.taken_by(command)
