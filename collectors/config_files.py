"""Configuration files of a server with what they include, as its process sees them, in a few round trips.

A server is recognised by the name of its process, which any user can choose. loadtop therefore reads files only for
processes of root or of the watching user, opens only regular files, and limits everything.

Source: Linux, namespaces(7) and proc(5): two processes share a namespace exactly if the links in /proc/PID/ns lead to
the same; /proc/PID/root is the root directory as that process sees it, mounts of its own included. Both need the rights
that ptrace needs: without them, the process is assumed to be in the namespaces of the machine.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from collectors.machine import FOREIGN, Missing, Texts, Wanted, batches, lines_of
from loadtop.i18n import Message

MOST_FILES = 300  # no server has more; a directory that includes itself ends here
MOST_CHARACTERS = 1 << 20  # of all files together, and their lines
MOST_LINES = 20_000
MOST_PATTERNS = 500
MOST_DIRECTORIES = 256  # listed to find out what patterns mean, and the entries looked at in them
MOST_ENTRIES = 5000
FILE_BYTES = 1 << 18
LINE_LENGTH = 4096  # what is beyond that is cut off; lines of a configuration are hardly longer
_LISTING_BYTES = 1 << 17
_PATH_LENGTH = 1024
_DEPTH = 8
_ARGUMENTS = 4096
_STATUS_BYTES = 4096
_MOST_WORKED_OUT = 8

T = TypeVar("T")

IncludeOf = Callable[[str], str | None]  # the pattern of paths that a line includes, or ``None``


def includes(pattern: re.Pattern[str], root: str) -> IncludeOf:
    """Finds what a line includes, by ``pattern``: paths below ``root`` if relative; a directory is all files in it."""

    def include(line: str) -> str | None:
        match = pattern.match(line)
        if match is None:
            return None
        path = posixpath.join(root, *filter(None, match.groups()))
        return f"{path}*" if path.endswith("/") else path

    return include


@dataclass(slots=True)
class Config:
    """``first`` are the paths or patterns that were asked for, ``files`` what was read by path, ``lines`` every line in
    the order in which the server reads it, without line ends."""

    first: tuple[str, ...] = ()
    files: dict[str, str | Missing] = field(default_factory=dict[str, str | Missing])
    lines: list[str] = field(default_factory=list[str])
    _worked_out: dict[object, Any] = field(default_factory=dict[object, Any], compare=False, repr=False)

    def once(self, what: object, work_out: Callable[[], T]) -> T:
        """Compute a result from the configuration once per reading, because that can take long."""
        if what not in self._worked_out:
            if len(self._worked_out) >= _MOST_WORKED_OUT:
                self._worked_out.clear()
            self._worked_out[what] = work_out()
        found: T = self._worked_out[what]
        return found

    def file_with(self, line: str) -> str:
        """The first file with such a line, ignoring surrounding spaces; empty if there is none."""
        return next((path for path, text in self.files.items() if line in map(str.strip, lines_of(text))), "")

    def problem(self) -> Message | None:
        refused = ((path, text) for path, text in self.files.items() if isinstance(text, Missing))
        return next((text.at(path) for path, text in refused), None)

    @property
    def foreign(self) -> bool:
        """Whether nothing was read because the process belongs to another user."""
        return FOREIGN in self.files.values()

    @property
    def found(self) -> bool:
        return any(isinstance(text, str) for text in self.files.values())


def config_file(path: str) -> Wanted:
    return Wanted(path, FILE_BYTES, regular=True)


async def read_config(machine: Texts, first: Iterable[str], include_of: IncludeOf = lambda _: None) -> Config:
    """Read the files that match ``first`` (paths or patterns), and all files that they include. Raises
    ``TransportError``."""
    config = Config(tuple(first))
    found = _Found(machine, include_of)
    patterns = list(config.first)
    for _ in range(_DEPTH):
        patterns = await found.read(patterns)
        if not patterns:
            break
    config.files = found.files
    config.lines = found.together(config.first)
    return config


class _Found:
    """What patterns mean on a machine (``meant``), and the files there: texts, and lines with the pattern included."""

    def __init__(self, machine: Texts, include_of: IncludeOf) -> None:
        self.meant: dict[str, tuple[str, ...]] = {}
        self.files: dict[str, str | Missing] = {}
        self.lines: dict[str, list[tuple[str, str | None]]] = {}
        self._machine = machine
        self._include_of = include_of
        self._directories, self._entries = MOST_DIRECTORIES, MOST_ENTRIES
        self._characters, self._lines = MOST_CHARACTERS, MOST_LINES

    async def read(self, patterns: Iterable[str]) -> list[str]:
        """Read what these patterns mean. Returns those that are included there and not known yet."""
        new: dict[str, None] = {}
        for pattern in islice(patterns, max(0, MOST_PATTERNS - len(self.meant))):
            self.meant[pattern] = await self._expanded(pattern)
            new |= dict.fromkeys(path for path in self.meant[pattern] if path not in self.files)
        paths = list(new)[: MOST_FILES - len(self.files)]
        included: dict[str, None] = {}
        for batch in batches(paths):
            texts = await self._machine.texts(map(config_file, batch))
            for path in batch:
                self._take(path, texts[path])
                included |= dict.fromkeys(pattern for _, pattern in self.lines[path] if pattern is not None)
        return [pattern for pattern in included if pattern not in self.meant]

    def _take(self, path: str, text: str | Missing) -> None:
        self.files[path] = text = text[: self._characters] if isinstance(text, str) else text
        lines = [line[:LINE_LENGTH] for line in lines_of(text)[: self._lines]]
        self._characters -= len(text) if isinstance(text, str) else 0
        self._lines -= len(lines)
        self.lines[path] = [(line, self._include_of(line)) for line in lines]

    async def _expanded(self, pattern: str) -> tuple[str, ...]:
        """The paths that a pattern means, sorted; a path without ``*``, ``?`` and ``[`` means itself."""
        parts = [part for part in pattern.split("/") if part]
        paths = [""] if len(pattern) <= _PATH_LENGTH else []
        for number, part in enumerate(parts, start=1):
            if not any(letter in part for letter in "*?["):
                paths = [f"{path}/{part}" for path in paths]
                continue
            listed = await self._listed(paths)
            matching = (entry for entry in listed if fnmatchcase(posixpath.basename(entry), part))
            paths = [entry for entry in matching if number < len(parts) or not entry.endswith("/")][:MOST_FILES]
        return tuple(paths)

    async def _listed(self, directories: Sequence[str]) -> list[str]:
        """The entries of these directories."""
        found: list[str] = []
        for batch in batches(directories[: self._directories]):
            self._directories -= len(batch)
            listings = await self._machine.texts(Wanted(f"{path}/", _LISTING_BYTES) for path in batch)
            for path in batch:
                more = entries(f"{path}/", listings[f"{path}/"], self._entries)
                self._entries -= len(more)
                found += more
        return found

    def together(self, patterns: Iterable[str]) -> list[str]:
        """The lines in the order in which the server reads them. A file that includes itself in any way comes once."""
        lines: list[str] = []
        opened: set[str] = set()
        circular: set[str] = set()
        steps = iter(range(2 * MOST_LINES))  # includes that double themselves have an end

        def add(pattern: str) -> None:
            for path, _ in zip(self.meant.get(pattern, ()), steps, strict=False):
                if path in opened:
                    circular.add(path)
                if path in circular or len(opened) > _DEPTH:
                    continue
                opened.add(path)
                for (line, included), _ in zip(self.lines.get(path, ()), steps, strict=False):
                    if included is None:
                        lines.append(line)
                    else:
                        add(included)
                opened.remove(path)

        for pattern in patterns:
            add(pattern)
        return lines


def entries(directory: str, listing: str | Missing, most: int = MOST_ENTRIES) -> list[str]:
    """The paths in a directory, sorted, links by where they lead."""
    lines = lines_of(listing)[:most]
    return sorted(posixpath.normpath(posixpath.join(directory, line)) for line in lines if line)


class View(Struct, frozen=True):
    """A machine as a process sees it: files by the paths that it would use, and its ``command`` line (empty where that
    cannot be read). ``root`` goes before its paths to read them from outside. The ports and addresses of a process
    with its ``own_network`` mean nothing here. One that is ``foreign`` belongs neither to root nor to the user who
    watches: it names no file that would be read."""

    machine: Texts
    root: str = ""
    own_network: bool = False
    command: tuple[str, ...] = ()
    foreign: bool = False

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        if self.foreign:
            return {file.path: FOREIGN for file in files}
        if not self.root:
            return await self.machine.texts(files)
        wanted = [replace(file, path=self.root + file.path) for file in files]
        found = dict(await self.machine.texts(wanted))
        for path, text in found.items():
            if path.endswith("/") and isinstance(text, str):
                found[path] = "".join(f"{line.removeprefix(self.root)}\n" for line in text.splitlines())
        return {path.removeprefix(self.root): text for path, text in found.items()}


async def view_of(machine: Texts, pid: int) -> View:
    """Raises ``TransportError``."""
    here, there, command = "/proc/self/ns/", f"/proc/{pid}/ns/", f"/proc/{pid}/cmdline"
    statuses = [Wanted(f"/proc/{of}/status", _STATUS_BYTES) for of in ("self", pid)]
    texts = await machine.texts((Wanted(here), Wanted(there), Wanted(command, _ARGUMENTS), *statuses))
    mine, users = (_users(texts[status.path]) for status in statuses)
    own, its = (dict(line.split(":", 1) for line in lines_of(texts[path]) if ":" in line) for path in (here, there))
    other = {kind for kind in own.keys() & its.keys() if own[kind] != its[kind]}
    if mine and not (users and users <= {"0", *mine}):
        return View(machine, own_network="net" in other, foreign=True)
    words, root = texts[command], f"/proc/{pid}/root" if "mnt" in other else ""
    return View(machine, root, "net" in other, tuple(words.rstrip("\0").split("\0")) if isinstance(words, str) else ())


def command_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """``--NAME VALUE``, ``--NAME=VALUE``, and words that stand alone, as values without a name."""
    name = ""
    for word in words[1:]:
        value = word
        if word.startswith("-"):
            name, _, value = word.lstrip("-").partition("=")
        if value:
            yield name, value
            name = ""


def _users(status: str | Missing) -> frozenset[str]:
    """The users of a process: real, effective, saved, and for files (proc_pid_status(5)); none where there is no
    /proc. All count, because a program with the rights of root can be started by anyone."""
    rows = (line.split() for line in lines_of(status))
    return frozenset(next((row[1:] for row in rows if row[:1] == ["Uid:"]), ()))
