"""The commands: what each is for, how it is called, examples, and the module that runs it."""

from dataclasses import dataclass


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


COMMANDS = {
    command.name: command
    for command in (
        Command("run", "[run] [OPTIONS] URL [URL ...]", "run a load test and watch it", "run",
            ("http://127.0.0.1/", "-k -c 50 -t 60 http://web1/", "--host web=ssh://web1 -c 20 http://web1/index.php",
             "--headless --json - --fail-if 'p99>500ms' -n 1000 http://web1/")),
        Command("watch", "watch [OPTIONS] [-- COMMAND ...]",
            "watch only; or run a command (ab, wrk) meanwhile", "run",
            ("watch --host web=ssh://web1 --host db=ssh://root@db1:2222", "watch -- ab -n 10000 -c 20 http://127.0.0.1/")),
        Command("tune", "tune [OPTIONS] URL", "find the knee; recommend the worker limit", "tune",
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
        Command("sessions", "sessions [list | rename | prune]", "choose, list, rename or remove recordings", "sessions",
            ("sessions list", "sessions rename run.loadtop before", "sessions prune --older-than 30d --keep 20"),
            (("list", "list them, newest last"), ("rename", "give one another name"), ("prune", "remove old ones"))),
        Command("doctor", "doctor [OPTIONS]", "check access to each host and suggest fixes", "doctor",
            ("doctor --host web=ssh://web1",)),
        Command("help", "help [TOPIC]", "explain a topic, or the options of a command", "help",
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
