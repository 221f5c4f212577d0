"""Readers for the output of load tools. A tool is recognised by its command or by a line that only it prints."""

from collections.abc import Sequence
from pathlib import Path

from loadtop.engines.tools.ab import Ab
from loadtop.engines.tools.hey_oha import Hey, Oha
from loadtop.engines.tools.jmeter import Jmeter
from loadtop.engines.tools.k6 import K6
from loadtop.engines.tools.reader import ToolReader
from loadtop.engines.tools.siege import Siege
from loadtop.engines.tools.wrk import Wrk

TOOLS: tuple[type[ToolReader], ...] = (Ab, Wrk, Siege, Hey, Oha, K6, Jmeter)


def reader_of_command(argv: Sequence[str]) -> ToolReader | None:
    """Return a reader for the tool that this command line runs, if it is a known one."""
    name = Path(argv[0]).name.removesuffix(".sh") if argv else ""
    return next((tool(tuple(argv)) for tool in TOOLS if tool.name == name), None)


def reader_of_line(line: str) -> ToolReader | None:
    """Return a reader for the tool that prints this line: for scripts and wrappers, whose options are unknown."""
    return next((tool(()) for tool in TOOLS if tool.start.match(line)), None)
