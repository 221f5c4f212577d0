"""Which engine makes the load, on which machines, and from whose plan: ``--engine``, ``--generator``, ``--plan``."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadtop.cli.exit_codes import UsageError
from loadtop.generator.target import PlanError

NAMES = ("builtin", "locust", "jmeter")
_SSH_PLACE = re.compile(r"ssh://(?:\w[\w.+-]*@)?(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?", re.ASCII)
_SERVER = re.compile(r"\w[\w.-]*(?::(?P<port>\d{1,5}))?", re.ASCII)


OF_THE_PLAN = {
    "-n": "requests", "--rate": "rate", "--steps": "steps", "-H": "header", "-C": "cookie", "-A": "auth", "-p": "post",
    "-u": "put", "-m": "method", "-i": "head", "-T": "content_type", "--urls": "url_file", "-k": "keepalive",
    "-X": "proxy",
}  # fmt: skip
"""Options whose place is a user's own plan for JMeter."""

OF_A_LOCUSTFILE = {option: name for option, name in OF_THE_PLAN.items() if option not in ("-n", "--steps", "-X")}
"""Options whose place is a user's own locustfile; -n and -X are refused with Locust in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """``generators`` are (name, place) of the machines that generate the load; ``own`` the text of the user's
    locustfile, ``file`` the user's plan for JMeter. ``timed`` and ``counted``: whether a time and a number of
    connections were given, where the plan has its own. ``servers`` are jmeter-servers, as HOST or HOST:PORT, on which
    JMeter makes the load: ``generators`` are then only watched."""

    name: str = "builtin"
    generators: tuple[tuple[str, str], ...] = ()
    own: str | None = None
    file: Path | None = None
    timed: bool = True
    counted: bool = True
    servers: tuple[str, ...] = ()


def is_ssh_place(place: str) -> bool:
    """Whether it is ``ssh://[USER@]HOST[:PORT]``, with a port that there can be."""
    return _is(_SSH_PLACE, place)


def _is(form: re.Pattern[str], text: str) -> bool:
    match = form.fullmatch(text)
    return match is not None and 0 < int(match["port"] or 22) < 65536


def add_engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine")
    group.add_argument("--engine", default="builtin", metavar="NAME", help="builtin (default), locust or jmeter")
    group.add_argument(
        "--generator", action="append", default=[], metavar="NAME=PLACE",
        help="machine that generates the load: NAME=ssh://[USER@]HOST[:PORT] or NAME=local; repeatable",
    )  # fmt: skip
    group.add_argument("--plan", type=Path, metavar="FILE", help="your own FILE.py for locust, FILE.jmx for jmeter")
    group.add_argument(
        "-R", "--remote", metavar="HOST,HOST", help="jmeter-servers that make the load: HOST or HOST:PORT"
    )


def engine_choice(arguments: Any) -> EngineChoice:
    """What was chosen. Raises UsageError; reads the user's plan and checks that it is Python."""
    name: str = arguments.engine
    if name not in NAMES:
        raise UsageError(f"--engine '{name}': there are {', '.join(NAMES)}")
    if name != "jmeter" and arguments.remote is not None:
        raise UsageError("-R is for jmeter-servers: add --engine jmeter")
    if name == "builtin":
        for option, given in (("--generator", arguments.generator), ("--plan", arguments.plan)):
            if given:
                raise UsageError(f"{option} is for other engines: add --engine locust or --engine jmeter")
        return EngineChoice()
    servers = _servers(arguments.remote)
    generators = tuple(map(_generator, arguments.generator)) or (() if servers else (("local", "local"),))
    names = [each for each, _ in generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: a name is given twice among {', '.join(names)}")
    if name == "locust":
        return EngineChoice(name=name, generators=generators, own=_own(arguments))
    file: Path | None = arguments.plan
    if file is not None:
        _check_own_plan(arguments, file)
    return EngineChoice(
        name=name,
        generators=generators,
        file=file,
        timed=file is None or arguments.time is not None,
        counted=file is None or arguments.concurrency is not None,
        servers=servers,
    )


def complete(arguments: Any) -> None:
    """Where JMeter runs a plan of the user and no URL was given, take the server that the plan names."""
    if arguments.engine != "jmeter" or arguments.plan is None or arguments.urls or arguments.url_file is not None:
        return
    from loadtop.engines.jmeter.user_plan import read_user_plan

    file: Path = arguments.plan
    try:
        _check_own_plan(arguments, file)
        url = read_user_plan(file).url()
    except PlanError as error:
        raise UsageError(str(error)) from None
    if url is None:
        raise UsageError(f"the plan {file} names its server by variables: give the URL of the server that it loads")
    arguments.urls = [url]


def _check_own_plan(arguments: Any, file: Path) -> None:
    """Raise UsageError for options that a plan of the user for JMeter has no place for."""
    if file.suffix != ".jmx":
        raise UsageError(f"--plan {file}: with --engine jmeter it is a plan of JMeter, FILE.jmx")
    _leave_to(file, arguments, OF_THE_PLAN)
    _read(file)


def _leave_to(file: Path, arguments: Any, options: dict[str, str]) -> None:
    """Raise UsageError for the first of these options that is given although ``file`` says what is requested."""
    option = next((option for option, name in options.items() if getattr(arguments, name)), None)
    if option is not None:
        raise UsageError(f"{option} is for plans made here: what is requested is said by {file}, leave it out")


def _generator(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not equals or not name or not (place == "local" or is_ssh_place(place)):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def _servers(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    servers = tuple(text.split(","))
    wrong = next((each for each in servers if not _is(_SERVER, each)), None)
    if wrong is not None or len(set(servers)) < len(servers):
        raise UsageError(f"-R '{text}': write HOST,HOST or HOST:PORT,HOST:PORT, each of them once")
    return servers


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None


def _own(arguments: Any) -> str | None:
    file: Path | None = arguments.plan
    if file is None:
        return None
    if file.suffix != ".py":
        raise UsageError(f"--plan {file}: with --engine locust it is a locustfile, FILE.py")
    _leave_to(file, arguments, OF_A_LOCUSTFILE)
    text = _read(file)
    try:
        compile(text, str(file), "exec")
    except (SyntaxError, ValueError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise UsageError(f"the plan {file}{place} is no Python: {getattr(error, 'msg', error)}") from None
    return text
