"""Which engine makes the load, on which machines, and from whose plan: ``--engine``, ``--generator``, ``--plan``."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadtop.load_options import UsageError

NAMES = ("builtin", "locust")
_PLACE = re.compile(r"local|ssh://(?:\w[\w.+-]*@)?(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """``generators`` are (name, place) of the machines that generate the load; ``own`` the text of the user's plan."""

    name: str = "builtin"
    generators: tuple[tuple[str, str], ...] = ()
    own: str | None = None


def add_engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine")
    group.add_argument("--engine", default="builtin", metavar="NAME", help="builtin (default) or locust")
    group.add_argument(
        "--generator", action="append", default=[], metavar="NAME=PLACE",
        help="machine that generates the load: NAME=ssh://[USER@]HOST[:PORT] or NAME=local; repeatable; for locust",
    )  # fmt: skip
    group.add_argument("--plan", type=Path, metavar="FILE.py", help="your own locustfile in place of a plan made here")


def engine_choice(arguments: Any) -> EngineChoice:
    """What was chosen. Raises UsageError; reads the user's plan and checks that it is Python."""
    name: str = arguments.engine
    if name == "jmeter":
        raise UsageError(
            "--engine jmeter is not available in this version: run the plan with loadtop watch -- jmeter -n -t PLAN.jmx"
        )
    if name not in NAMES:
        raise UsageError(f"--engine '{name}': there are {' and '.join(NAMES)}")
    if name == "builtin":
        for option, given in (("--generator", arguments.generator), ("--plan", arguments.plan)):
            if given:
                raise UsageError(f"{option} is for other engines: add --engine locust")
        return EngineChoice()
    generators = tuple(map(_generator, arguments.generator)) or (("local", "local"),)
    names = [each for each, _ in generators]
    if len(set(names)) < len(names):
        raise UsageError(f"--generator: a name is given twice among {', '.join(names)}")
    return EngineChoice(name=name, generators=generators, own=_own(arguments.plan))


def _generator(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not equals or not name or not _PLACE.fullmatch(place):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def _own(file: Path | None) -> str | None:
    if file is None:
        return None
    if file.suffix != ".py":
        raise UsageError(f"--plan {file}: with --engine locust it is a locustfile, FILE.py")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the plan {file}: {getattr(error, 'strerror', None) or error}") from None
    try:
        compile(text, str(file), "exec")
    except (SyntaxError, ValueError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise UsageError(f"the plan {file}{place} is no Python: {getattr(error, 'msg', error)}") from None
    return text
