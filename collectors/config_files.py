"""Configuration files of a server with what they include, as its process sees them, in a few round trips.

Source: Linux, namespaces(7) and proc(5): two processes share a namespace exactly if the links in /proc/PID/ns lead to
the same; /proc/PID/root is the root directory as that process sees it, mounts of its own included. Both need the rights
that ptrace needs: without them a process is taken for one of the machine's own.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from collectors.machine import Missing, Texts, Wanted, lines_of
from loadtop.i18n import Message

MOST_FILES = 300  # no server has more; a directory that includes itself ends here
FILE_BYTES = 1 << 18
_DEPTH = 8
_ARGUMENTS = 4096

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

    def file_with(self, line: str) -> str:
        """The first file that has such a line, ignoring spaces around it; empty if none has."""
        return next((path for path, text in self.files.items() if line in map(str.strip, lines_of(text))), "")

    def problem(self) -> Message | None:
        refused = ((path, text) for path, text in self.files.items() if isinstance(text, Missing))
        return next((text.at(path) for path, text in refused), None)

    @property
    def found(self) -> bool:
        return any(isinstance(text, str) for text in self.files.values())


async def read_config(machine: Texts, first: Iterable[str], include_of: IncludeOf = lambda _: None) -> Config:
    """The files that ``first`` (paths or patterns) means, and all that they include. Raises ``TransportError``."""
    config = Config(tuple(first))
    meant: dict[str, tuple[str, ...]] = {}
    patterns = list(config.first)
    for _ in range(_DEPTH):
        new: list[str] = []
        for each in patterns:
            meant[each] = await _expand(machine, each)
            new += [path for path in meant[each] if path not in config.files and path not in new]
        new = new[: MOST_FILES - len(config.files)]
        if not new:
            break
        texts = await machine.texts(Wanted(path, FILE_BYTES) for path in new)
        config.files |= {path: texts[path] for path in new}
        lines = (line for path in new for line in lines_of(texts[path]))
        included = dict.fromkeys(pattern for line in lines if (pattern := include_of(line)) is not None)
        patterns = [pattern for pattern in included if pattern not in meant]

    def add(pattern: str, depth: int) -> None:
        for path in meant.get(pattern, ()):
            for line in lines_of(config.files.get(path)):
                included = include_of(line)
                if included is None:
                    config.lines.append(line)
                elif depth:
                    add(included, depth - 1)

    for each in config.first:
        add(each, _DEPTH)
    return config


async def _expand(machine: Texts, pattern: str) -> tuple[str, ...]:
    """The paths that a pattern means, sorted; a path without ``*``, ``?`` and ``[`` means itself."""
    paths = [""]
    parts = [part for part in pattern.split("/") if part]
    for number, part in enumerate(parts):
        if not any(letter in part for letter in "*?["):
            paths = [f"{path}/{part}" for path in paths]
            continue
        listed = await machine.texts(Wanted(f"{path}/") for path in paths)
        paths = [
            entry
            for path in paths
            for entry in entries(f"{path}/", listed[f"{path}/"])
            if fnmatchcase(posixpath.basename(entry), part) and (number < len(parts) - 1 or not entry.endswith("/"))
        ]
    return tuple(paths[:MOST_FILES])


def entries(directory: str, listing: str | Missing) -> list[str]:
    """The paths in a directory, sorted, links by where they lead."""
    return sorted(posixpath.normpath(posixpath.join(directory, line)) for line in lines_of(listing) if line)


@dataclass(frozen=True, slots=True)
class View:
    """A machine as a process sees it: files by the paths that it would use, and its ``command`` line (empty where that
    may not be read). ``root`` goes before its paths to read them from outside. The ports and addresses of a process
    with its ``own_network`` mean nothing here."""

    machine: Texts
    root: str = ""
    own_network: bool = False
    command: tuple[str, ...] = ()

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
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
    texts = await machine.texts((Wanted(here), Wanted(there), Wanted(command, _ARGUMENTS)))
    own, its = (dict(line.split(":", 1) for line in lines_of(texts[path]) if ":" in line) for path in (here, there))
    other = {kind for kind in own.keys() & its.keys() if own[kind] != its[kind]}
    words, root = texts[command], f"/proc/{pid}/root" if "mnt" in other else ""
    return View(machine, root, "net" in other, tuple(words.rstrip("\0").split("\0")) if isinstance(words, str) else ())
