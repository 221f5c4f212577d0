"""Load tools that are recognised by their command's name and by what they print: one file each."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from loadtop.engines.figures import Figures
from loadtop.engines.tools.ab import Ab
from loadtop.engines.tools.hey import Hey
from loadtop.engines.tools.jmeter import Jmeter
from loadtop.engines.tools.k6 import K6
from loadtop.engines.tools.oha import Oha
from loadtop.engines.tools.siege import Siege
from loadtop.engines.tools.wrk import Wrk


class Tool(Protocol):
    """Reads the output of one tool. ``name`` is the engine's name; ``figures`` what it has said so far."""

    @property
    def name(self) -> str: ...

    @property
    def figures(self) -> Figures: ...

    def read(self, line: str) -> None:
        """Take the next line of its output, without escape sequences."""
        ...


TOOLS: tuple[tuple[str, Callable[[str], bool], Callable[[tuple[str, ...]], Tool]], ...] = (
    ("ab", Ab.begins, Ab),
    ("wrk", Wrk.begins, Wrk),
    ("siege", Siege.begins, Siege),
    ("hey", Hey.begins, Hey),
    ("oha", Oha.begins, Oha),
    ("k6", K6.begins, K6),
    ("jmeter", Jmeter.begins, Jmeter),
)
"""The command's name, whether a line of output is one that only this tool prints, and what reads it."""


def read(tool: Tool, line: str) -> None:
    """Let the tool's reader take a line. One that is damaged says nothing."""
    with suppress(ValueError):
        tool.read(line)


def tool_of_command(argv: Sequence[str]) -> Tool | None:
    """The tool that the first word names, if it is one of ours."""
    base = Path(argv[0]).name.removesuffix(".sh") if argv else ""
    return next((make(tuple(argv)) for name, _, make in TOOLS if name == base), None)


def tool_of_line(line: str) -> Tool | None:
    """The tool that prints such a line: for scripts and wrappers around one. Its options are not known then."""
    return next((make(()) for _, begins, make in TOOLS if begins(line)), None)
