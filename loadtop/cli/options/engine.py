"""Which engine generates the load, on which machines, and from whose plan."""

import re
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.parser import is_ssh_place
from loadtop.cli.options.table import options_of
from loadtop.i18n import Message, Translatable

_SERVER = re.compile(r"\w[\w.-]*(?::(?P<port>\d{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """``generators`` are (name, place) of the machines that generate the load; ``own`` is the text of the user's
    locustfile, ``file`` the user's plan for JMeter. ``timed`` and ``counted``: whether a time and a number of
    connections replace those of that plan. ``servers`` are jmeter-servers, as HOST or HOST:PORT, that generate the load
    instead of ``generators``."""

    name: str = "builtin"
    generators: tuple[tuple[str, str], ...] = ()
    own: str | None = None
    file: Path | None = None
    timed: bool = True
    counted: bool = True
    servers: tuple[str, ...] = ()


def engine_choice(arguments: Namespace) -> EngineChoice:
    """What was chosen. Raises UsageError; reads the user's plan and checks its syntax."""
    name: str = arguments.engine
    for option in options_of("run"):
        if name in option.refused and option.given(arguments):
            text: Translatable = "{option} is not possible with --engine {engine}: {advice}"
            raise UsageError(Message(text, option=option.name, engine=name, advice=Message(option.refused[name])))
    if name == "builtin":
        return EngineChoice()
    servers = _servers(arguments.remote)
    generators = tuple(map(_generator, arguments.generator)) or (() if servers else (("local", "local"),))
    names = [each for each, _ in generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: a name is given twice among {', '.join(names)}")
    choice = EngineChoice(name=name, generators=generators, servers=servers)
    file: Path | None = arguments.plan
    if file is None:
        return choice
    text = _read_plan(arguments, file)
    if name == "locust":
        try:
            compile(text, str(file), "exec")
        except (SyntaxError, ValueError) as error:
            place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise UsageError(f"the plan {file}{place} is not Python: {getattr(error, 'msg', error)}") from None
        return replace(choice, own=text)
    return replace(choice, file=file, timed=arguments.time is not None, counted=arguments.concurrency is not None)


def take_url_of_plan(arguments: Namespace) -> None:
    """If JMeter runs a user's plan and no URL is given, load the server that the plan names."""
    if arguments.engine != "jmeter" or arguments.plan is None or arguments.urls or arguments.url_file is not None:
        return
    from loadtop.engines.jmeter.user_plan import read_user_plan
    from loadtop.generator.target import PlanError

    file: Path = arguments.plan
    _read_plan(arguments, file)
    try:
        url = read_user_plan(file).url()
    except PlanError as error:
        raise UsageError(error.message) from None
    if url is None:
        raise UsageError(f"the plan {file} names its server by variables: give the URL of the server that it loads")
    arguments.urls = [url]


def _read_plan(arguments: Namespace, file: Path) -> str:
    """The user's plan. Raises UsageError for options that the plan replaces."""
    engine: str = arguments.engine
    suffix = ".py" if engine == "locust" else ".jmx"
    if file.suffix != suffix:
        raise UsageError(f"--plan {file}: --engine {engine} needs a FILE{suffix}")
    for option in options_of("run"):
        if engine in option.own_plan and option.given(arguments):
            raise UsageError(f"{option.name} has no effect with --plan: {file} says what to request; leave it out")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None


def _generator(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not equals or not name or not (place == "local" or is_ssh_place(place)):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def _servers(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    servers = tuple(text.split(","))
    matches = [_SERVER.fullmatch(server) for server in servers]
    if len(set(servers)) < len(servers) or not all(match and 0 < int(match["port"] or 22) < 65536 for match in matches):
        raise UsageError(f"-R '{text}': write HOST,HOST or HOST:PORT,HOST:PORT, each of them once")
    return servers
