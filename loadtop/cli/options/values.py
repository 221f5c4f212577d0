"""The types of the values of options: each converts a word, and raises ValueError with what the word must be, or
UsageError."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from loadtop.analysis.fail_if import Condition

HERE = ("local", "psutil")
"""Places that are this machine: read from /proc if there is one, or through psutil if asked for."""

_SSH_PLACE = re.compile(r"ssh://(?:\w[\w.+-]*@)?(?:\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?", re.ASCII)
_JMETER_SERVER = re.compile(r"\w[\w.-]*(?::(?P<port>\d{1,5}))?", re.ASCII)


def number(*, least: float | None = None, above: float | None = None, whole: bool = False) -> Callable[[str], float]:
    """The type of a number below 10 million, or of a whole number."""
    kind = "a whole number" if whole else "a number"

    def convert(word: str) -> float:
        try:
            value = int(word) if whole else float(word)
        except ValueError:
            raise ValueError(kind) from None
        if above is not None and not value > above:
            raise ValueError(f"{kind} above {above:g}")
        if least is not None and not value >= least:
            raise ValueError(f"{kind} of {least:g} or more")
        if not whole and not value < 1e7:
            raise ValueError(f"{kind} below 10 million")
        return value

    return convert


COUNT, POSITIVE = number(least=1, whole=True), number(above=0)


def workers(word: str) -> float:
    """A number of processes; 0 stands for ``auto``."""
    try:
        return 0 if word == "auto" else COUNT(word)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None


def output_file(word: str) -> Path:
    """A file to write; standard output is not possible."""
    if word == "-":
        raise ValueError("the name of a file")
    return Path(word)


def is_ssh_place(place: str) -> bool:
    """Whether it is ``ssh://[USER@]HOST[:PORT]`` with a valid port."""
    return _has_port(_SSH_PLACE.fullmatch(place))


def _has_port(found: re.Match[str] | None) -> bool:
    return found is not None and 0 < int(found["port"] or 22) < 65536


def watched_host(text: str) -> tuple[str, str]:
    """The name and the place of ``--host``."""
    name, equals, place = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--host '{text}': write NAME=local or NAME=ssh://[USER@]HOST[:PORT]")
    if place not in HERE and not is_ssh_place(place):
        raise UsageError(f"--host '{text}': the place is local, psutil or ssh://[USER@]HOST[:PORT]")
    return name, place


def generator(text: str) -> tuple[str, str]:
    """The name and the place of ``--generator``."""
    name, equals, place = text.partition("=")
    if not equals or not name or not (place == "local" or is_ssh_place(place)):
        raise UsageError(f"--generator '{text}': write NAME=ssh://[USER@]HOST[:PORT] or NAME=local")
    return name, place


def jmeter_servers(text: str) -> tuple[str, ...]:
    """The servers of ``-R``, as HOST or HOST:PORT."""
    servers = tuple(text.split(","))
    if len(set(servers)) < len(servers) or not all(_has_port(_JMETER_SERVER.fullmatch(server)) for server in servers):
        raise UsageError(f"-R '{text}': write HOST,HOST or HOST:PORT,HOST:PORT, each of them once")
    return servers


def condition(text: str) -> "Condition":
    """The rule of ``--fail-if``."""
    from loadtop.analysis.fail_if import Condition, ConditionError

    try:
        return Condition.parse(text)
    except ConditionError as error:
        raise UsageError(f"--fail-if: {error}") from None
