"""Every command and every option, declared once: parser, ``--help`` and checks are made from this."""

from collections.abc import Iterator
from pathlib import Path

from loadtop.cli.options import option as types
from loadtop.cli.options.option import COUNT, POSITIVE, Command, Group, Option, output_file
from loadtop.i18n import LANGUAGES, Translatable
from loadtop.servers.status_options import STATUS_OPTIONS

COMMANDS = {
    command.name: command
    for command in (
        Command("run", "[run] [OPTIONS] URL [URL ...]", "run a load test and watch it", "run",
            ("http://127.0.0.1/", "-k -c 50 -t 60 http://web1/", "--host web=ssh://web1 -c 20 http://web1/index.php",
             "--headless --json - --fail-if 'p99>500ms' -n 1000 http://web1/")),
        Command("watch", "watch [OPTIONS] [-- COMMAND ...]",
            "watch only; or run a command (ab, wrk) meanwhile", "run",
            ("watch --host web=ssh://web1 --host db=ssh://root@db1:2222", "watch -- ab -n 10000 -c 20 http://127.0.0.1/")),
        Command("tune", "tune [OPTIONS] URL", "find the knee; recommend the worker limit", "run",
            ("tune http://127.0.0.1/", "tune -c 64 -t 90 --host web=ssh://web1 http://web1/index.php")),
        Command("experiment", "experiment [OPTIONS] PLAN.toml",
            "measure server variants under several loads", "experiment",
            ("experiment plan.toml", "experiment --check plan.toml")),
        Command("demo", "demo [OPTIONS]", "start a server and load it: shows what loadtop does", "run",
            ("demo",)),
        Command("replay", "replay [OPTIONS] SESSION", "show a recording in the cockpit again", "recordings",
            ("replay run.loadtop",)),
        Command("report", "report [OPTIONS] SESSION", "print or write the report of a recording", "recordings",
            ("report run.loadtop", "report --html report.html --json - run.loadtop")),
        Command("compare", "compare [OPTIONS] SESSION SESSION ...", "compare runs, with direction and significance",
            "compare", ("compare before.loadtop after.loadtop",)),
        Command("export", "export [OPTIONS] SESSION", "convert a recording for other tools", "export",
            ("export --csv tables run.loadtop", "export --sar --host web1 run.loadtop")),
        Command("mark", "mark [OPTIONS] TEXT", "note an event on the time axis of a running test", "mark",
            ("mark 'restarted httpd'",)),
        Command("sessions", "sessions [list | rename | prune]", "choose, list, rename or remove recordings",
            "recordings",
            ("sessions list", "sessions rename run.loadtop before", "sessions prune --older-than 30d --keep 20"),
            (("list", "list them, newest last"), ("rename", "give one another name"), ("prune", "remove old ones"))),
        Command("doctor", "doctor [OPTIONS]", "check access to each host and suggest fixes", "doctor",
            ("doctor --host web=ssh://web1",)),
        Command("help", "help [TOPIC]", "explain a topic, or the options of a command", "options.parser",
            ("help ab", "help tune")),
    )
}  # fmt: skip

TOPICS = {
    "ab": "differences from ab, and why",
    "generator": "how load is generated: models, steps, workers",
    "scripts": "exit codes, --fail-if, the JSON summary",
    "plan": "every key of the plan of `loadtop experiment`",
}
"""Texts of ``docs``; ``pyproject.toml`` has those that wheels include."""

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
TIMES = "it needs the time of each request, which no command tells; leave the option out"
SESSION = "recording: a file, or a name from `loadtop sessions list`"
JSON = "write the JSON summary (- for standard output)"

AB_REPORTS = Group("ab's report and files", ("run", "watch", "demo"),
    Option("--ab", "", "print ab's report instead of loadtop's", commands=("run", "watch", "demo", "report"),
        conflict="report"),
    Option("-d", "", "--ab without percentiles", dest="no_percentiles"),
    Option("-S", "", "--ab without medians and deviations", dest="no_spread"),
    Option("-e --percentiles-csv", "FILE", "write the percentiles as CSV", output_file, refused={"watch": TIMES}),
    Option("-g --gnuplot", "FILE", "write the times of each request", output_file,
        refused={"watch": TIMES, "demo": "leave it out, or give it with a URL", **BUILTIN_ONLY}),
    Option("-w --html-table", "", "print ab's report as an HTML table", dest="as_html", conflict="report"),
    *(
        Option(f"-{letter}", "TEXT", f"attributes of <{element}>; switches -w on", dest=f"{element}_attributes")
        for letter, element in (("x", "table"), ("y", "tr"), ("z", "td"))
    ),
    refused={"tune": "it has its own report; leave the option out, or see `loadtop report`"},
)  # fmt: skip
"""ab's reports on one load, which not every command generates."""

GROUPS = (
    Group("arguments", (),
        Option("urls", "URL", "URL to request", nargs="*", commands=LOADS),
        Option("plan_file", "PLAN.toml", "what to run (see `loadtop help plan`)", Path, commands=("experiment",)),
        Option("session", "SESSION", SESSION, Path, commands=("replay", "report", "export", "sessions rename")),
        Option("name", "NAME", "the new name, with or without .loadtop", commands=("sessions rename",)),
        Option("sessions", "SESSION", "recordings; the others are compared with the first", Path, nargs="*",
            commands=("compare",)),
        Option("mark", "TEXT", "what happens now, such as 'restarted httpd'", commands=("mark",)),
        Option("topic", "TOPIC", "a topic or a command", nargs="*", commands=("help",)),
    ),
    Group("load", LOADS,
        Option("-n --requests", "N", "stop after N requests", COUNT, own_plan=("jmeter",),
            refused={**TUNE_CHOOSES, "locust": "give a time with -t or --step-time"}),
        Option("-c --concurrency", "N",
            f"requests in flight at the same time (default {DEFAULT_CONCURRENCY}; 1 with -n or -t)", COUNT,
            help_for={"tune": f"most connections (default {TUNE_CONNECTIONS})"}),
        Option("-t --time", "SECONDS", f"stop after that time (default {DEFAULT_TIME_S:.0f}, unless -n is given)",
            POSITIVE, commands=(*LOADS, "watch"),
            help_for={"tune": f"stop the search after that time (default {TUNE_TOTAL_S:.0f})",
                "watch": "stop after that time"}),
        Option("--rate", "R", "start R requests/s, however slow the server is (open model)", POSITIVE, own_plan=PLANS,
            refused=TUNE_CHOOSES),
        Option("--steps", "1,2,4", "run one step after another: connections, or requests/s with --rate",
            own_plan=("jmeter",), refused=TUNE_CHOOSES),
        Option("--step-time", "S", f"length of each step (default {DEFAULT_STEP_S:.0f}, or -n requests)", POSITIVE,
            help_for={"tune": f"shortest step (default {TUNE_STEP_S:.0f})"}),
        Option("--warmup", "S", "leave the first seconds out of the statistics", types.number(least=0), 0.0,
            refused={"tune": "it waits until each step is steady; leave the option out"}),
        Option("--workers", "N", "number of generator processes; `auto` adds processes on demand", types.workers, 1,
            refused={"jmeter": "leave it out, one process uses all cores"}),
        Option("--yes", "", "do not ask before a large load on a public address"),
    ),
    Group("tuning", ("tune",),
        Option("--from", "N", "start with N connections", COUNT, 1, dest="first"),
        Option("--finer", "N", "steps near the knee", types.number(whole=True, least=0), TUNE_REFINEMENTS),
        Option("--most-step-time", "S", "longest step, steady or not (default 4 times --step-time)", POSITIVE),
    ),
    Group("requests", LOADS,
        Option("--urls", "FILE", "request the URLs of a file; each line: URL [WEIGHT [METHOD [BODYFILE]]]", Path,
            dest="url_file", own_plan=PLANS),
        Option("-k --keepalive", "", "reuse connections", own_plan=PLANS),
        Option("-m --method", "NAME", "request method", own_plan=PLANS),
        Option("-i --head", "", "send HEAD instead of GET", own_plan=PLANS, conflict="body"),
        Option("-p --post", "FILE", "POST the contents of a file", Path, own_plan=PLANS, conflict="body"),
        Option("-u --put", "FILE", "PUT the contents of a file", Path, own_plan=PLANS, conflict="body"),
        Option("-T --content-type", "TYPE", "content type of the body (default text/plain)", own_plan=PLANS),
        Option("-H --header", "LINE", "add a header; @FILE: one per line of a file; repeatable", repeatable=True,
            own_plan=PLANS),
        Option("-C --cookie", "NAME=VALUE", "add a cookie; @FILE: from a file; repeatable", repeatable=True,
            own_plan=PLANS),
        Option("-A --auth", "USER:PASSWORD", "use Basic authentication; @FILE: from a file", own_plan=PLANS),
        Option("-l --any-length", "", "accept bodies that differ in length"),
        Option("-s --timeout", "SECONDS", "give up a request after that time", POSITIVE, 30.0),
        Option("-r --keep-going", "", "continue when the server stops answering"),
        Option("-v --verbosity", "LEVEL", "2 prints heads, 3 also the status of each response",
            types.number(whole=True, least=0), 0, refused=BUILTIN_ONLY),
    ),
    Group("connections and TLS", LOADS,
        Option("-X --proxy", "HOST:PORT", "use an HTTP proxy", own_plan=("jmeter",), refused=BUILTIN_ONLY),
        Option("-P --proxy-auth", "USER:PASSWORD", "use Basic authentication at the proxy; @FILE: from a file"),
        Option("-b --buffer", "BYTES", "size of the socket buffers", COUNT, refused=BUILTIN_ONLY),
        Option("-B --bind", "ADDRESS", "connect from this local address", refused=BUILTIN_ONLY),
        Option("-f --protocol", "PROTOCOL", "TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL", refused=BUILTIN_ONLY),
        Option("-Z --ciphers", "SUITE", "TLS cipher suites", refused=BUILTIN_ONLY),
        Option("-E --certificate", "FILE", "client certificate and key (PEM)", refused=BUILTIN_ONLY),
        Option("-I --no-sni", "", "do not send the server's name in the TLS handshake", refused=BUILTIN_ONLY),
        Option("--insecure", "", "accept any TLS certificate"),
    ),
    Group("engine", LOADS,
        Option("--engine", "NAME", "what generates the load: builtin, locust or jmeter", default="builtin",
            choices=ENGINES),
        Option("--generator", "NAME=PLACE",
            "generate the load on this machine: NAME=ssh://[USER@]HOST[:PORT] or NAME=local; repeatable",
            types.generator, dest="generators", repeatable=True, refused={"builtin": ADD_ENGINE}),
        Option("--plan", "FILE", "run your own plan: FILE.py for locust, FILE.jmx for jmeter", Path, dest="user_plan",
            refused={"builtin": ADD_ENGINE}),
        Option("-R --remote", "HOST,HOST", "generate the load on these jmeter-servers: HOST or HOST:PORT",
            types.jmeter_servers, (), dest="servers", refused={"builtin": ADD_JMETER, "locust": ADD_JMETER}),
    ),
    Group("monitoring", (*MEASURES, "doctor"),
        Option("--host", "NAME=PLACE",
            "watch this machine: NAME=local or NAME=ssh://[USER@]HOST[:PORT], also an alias of your ssh "
            "configuration; repeatable",
            types.watched_host, dest="hosts", repeatable=True),
        *(
            Option(f"--{page.name}", "[NAME:]URL", f"{page.help}: {page.forms}", repeatable=True)
            for page in STATUS_OPTIONS
        ),
        Option("--interval", "SECONDS", "time between samples", INTERVAL, 1.0),
        Option("--link", "[NAME:]MBIT",
            "speed of the network interfaces of a host, or of all, whatever the kernel reports; repeatable",
            types.link, dest="links", repeatable=True),
    ),
    Group("output", MEASURES,
        Option("--headless", "", "print a line per interval instead of the cockpit",
            commands=(*MEASURES, "replay", "experiment"),
            help_for={"experiment": "print lines of progress instead of the cockpit"}),
        Option("-q --quiet", "", "do not print a line per interval", commands=(*MEASURES, "experiment"),
            help_for={"experiment": "print the table alone"}),
        Option("--text", "", "print the report (default)", commands=("report", "compare"), conflict="report",
            help_for={"compare": "print text, on a terminal too"}),
        Option("--markdown", "", "print the report in Markdown", commands=("report",), conflict="report"),
        Option("--json", "FILE", JSON, commands=(*MEASURES, "report", "doctor", "compare"),
            help_for={"doctor": "write the checks as JSON (- for standard output)",
                "compare": "write the comparison as JSON (- for standard output)"}),
        Option("--html", "FILE", "write the report as a page with charts", output_file, commands=(*MEASURES, "report")),
        Option("--record", "FILE", "record to this file (default: a new one in the state directory)", output_file,
            conflict="record"),
        Option("--no-record", "", "do not record", conflict="record"),
        Option("--fail-if", "EXPR", "exit with 1 if it holds, such as 'p99>500ms'; repeatable", types.condition,
            repeatable=True),
        Option("--strict", "", "exit with 5 if the load generator was the bottleneck"),
    ),
    AB_REPORTS,
    Group("options", (),
        Option("--out", "DIR", "write results there (default: PLAN.results beside the plan)", Path,
            commands=("experiment",)),
        Option("--again", "", "measure everything again, not only what is missing", commands=("experiment",),
            conflict="experiment"),
        Option("--check", "", "only check the plan", commands=("experiment",), conflict="experiment"),
        Option("--table", "", "only print the table of what is measured so far", commands=("experiment",),
            conflict="experiment"),
        Option("--by", "step|time", "what to align (default: steps, if there are any)", choices=("step", "time"),
            commands=("compare",)),
        Option("--margin", "PERCENT", "smallest difference that matters", POSITIVE, 5.0, commands=("compare",)),
        Option("--all", "", "also show the numbers that do not differ", commands=("compare",)),
        Option("--csv", "DIR", "write a CSV file for each table", Path, commands=("export",)),
        Option("--jsonl", "FILE", "write a JSON line for each row (- for standard output)", commands=("export",)),
        Option("--sqlite", "FILE", "write a new SQLite database with these tables", output_file, commands=("export",)),
        Option("--sar", "", "print what sar -u -P ALL -W -S -q -n DEV prints", commands=("export",)),
        Option("--host", "NAME", "only this machine (with --sar)", commands=("export",)),
        Option("--cast", "FILE", "write the cockpit as a recording of asciinema", output_file, commands=("export",)),
        Option("--size", "COLUMNSxROWS", "size of the cockpit (with --cast)", default="120x40", commands=("export",)),
        Option("--session", "FILE", "the test that records to FILE (default: the newest)", dest="running",
            commands=("mark",)),
        Option("--older-than", "AGE", "recordings that ended so long ago: 30d, 12h, 2w", commands=("sessions prune",)),
        Option("--keep", "N", "but never the newest N", COUNT, commands=("sessions prune",)),
        Option("--dry-run", "", "only show what would be removed", commands=("sessions prune",)),
    ),
    Group("every command",
        (*COMMANDS, *(f"{command.name} {part}" for command in COMMANDS.values() for part, _ in command.parts)),
        Option("--lang", "|".join(LANGUAGES), "language (default: that of the locale)", choices=LANGUAGES),
        Option("--theme", "NAME", "colours: terminal (its own 16), dark, light, safe (for the colour-blind)",
            choices=THEMES),
        Option("--ascii", "", "draw with ASCII only"),
        Option("-h --help", "", "show this help and exit"),
        Option("-V --version", "", "show the version and exit", commands=("run",)),
    ),
)  # fmt: skip


def options_of(command: str) -> Iterator[Option]:
    for group in GROUPS:
        yield from group.taken_by(command)
