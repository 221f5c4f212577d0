"""Configuration files of a server with what they include, as its process sees them, in a few round trips.

Source: Linux, namespaces(7) and proc(5): two processes share a namespace exactly if the links in /proc/PID/ns lead to
the same; /proc/PID/root is the root directory as that process sees it, mounts of its own included. Both need the rights
that ptrace needs: without them a process is taken for one of the machine's own.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from collectors.reading import Missing, Texts, Wanted, lines_of
from loadtop.i18n import Message

MOST_FILES = 300
"""No server has more; a directory that includes itself ends here."""

FILE_BYTES = 1 << 18
_DEPTH = 8
_ARGUMENTS = 4096

IncludeOf = Callable[[str], str | None]
"""The pattern of paths that a line includes, or ``None``."""


@dataclass(slots=True)
class Config:
    """The files by path, and the ``paths`` that each pattern means, in the order in which they are read."""

    first: tuple[str, ...]
    include_of: IncludeOf = lambda _: None
    files: dict[str, str | Missing] = field(default_factory=dict[str, str | Missing])
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def lines(self) -> Iterator[str]:
        """Every line in the order in which the server reads it, without line ends."""
        for pattern in self.first:
            for path in self.paths.get(pattern, ()):
                yield from self._lines(path, _DEPTH)

    def file_with(self, line: str) -> str:
        """The first file that has such a line, ignoring spaces around it; empty if none has."""
        texts = ((path, text) for path, text in self.files.items() if isinstance(text, str))
        return next((path for path, text in texts if line in map(str.strip, text.splitlines())), "")

    def problem(self) -> Message | None:
        refused = ((path, text) for path, text in self.files.items() if isinstance(text, Missing))
        return next((text.at(path) for path, text in refused), None)

    @property
    def found(self) -> bool:
        return any(isinstance(text, str) for text in self.files.values())

    def _lines(self, path: str, depth: int) -> Iterator[str]:
        text = self.files.get(path)
        for line in lines_of(text):
            pattern = self.include_of(line)
            if pattern is None:
                yield line
            elif depth:
                for included in self.paths.get(pattern, ()):
                    yield from self._lines(included, depth - 1)


async def read_config(machine: Texts, first: Iterable[str], include_of: IncludeOf = lambda _: None) -> Config:
    """The files that ``first`` (paths or patterns) means, and all that they include. Raises ``TransportError``."""
    config = Config(tuple(first), include_of)
    patterns = list(config.first)
    for _ in range(_DEPTH):
        new: list[str] = []
        for each in patterns:
            config.paths[each] = await _expand(machine, each)
            new += [path for path in config.paths[each] if path not in config.files and path not in new]
        new = new[: MOST_FILES - len(config.files)]
        if not new:
            break
        texts = await machine.texts(Wanted(path, FILE_BYTES) for path in new)
        config.files |= {path: texts[path] for path in new}
        lines = (line for path in new for line in lines_of(texts[path]))
        included = dict.fromkeys(pattern for line in lines if (pattern := include_of(line)) is not None)
        patterns = [pattern for pattern in included if pattern not in config.paths]
    return config


async def arguments(machine: Texts, pid: int) -> list[str]:
    """The command line of a process; empty where it may not be read. Raises ``TransportError``."""
    path = f"/proc/{pid}/cmdline"
    text = (await machine.texts((Wanted(path, _ARGUMENTS),)))[path]
    return text.rstrip("\0").split("\0") if isinstance(text, str) else []


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
class Namespaces:
    """``root`` goes before its paths to read them from outside. The ports and addresses of a process with its
    ``own_network`` mean nothing here."""

    root: str = ""
    own_network: bool = False


class Rooted:
    """Files by the paths that a process would use."""

    def __init__(self, texts: Texts, root: str) -> None:
        self._texts = texts
        self._root = root

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        wanted = [replace(file, path=self._root + file.path) for file in files]
        found = dict(await self._texts.texts(wanted))
        for path, text in found.items():
            if path.endswith("/") and isinstance(text, str):
                found[path] = "".join(f"{line.removeprefix(self._root)}\n" for line in text.splitlines())
        return {path.removeprefix(self._root): text for path, text in found.items()}


async def namespaces_of(machine: Texts, pid: int) -> Namespaces:
    """Raises ``TransportError``."""
    here, there = "/proc/self/ns/", f"/proc/{pid}/ns/"
    texts = await machine.texts((Wanted(here), Wanted(there)))
    own, its = _namespaces(texts[here]), _namespaces(texts[there])

    def other(kind: str) -> bool:
        return kind in own and kind in its and own[kind] != its[kind]

    return Namespaces(f"/proc/{pid}/root" if other("mnt") else "", other("net"))


def as_seen_by(machine: Texts, namespaces: Namespaces) -> Texts:
    """The files of the machine as a process there sees them."""
    return Rooted(machine, namespaces.root) if namespaces.root else machine


def _namespaces(links: str | Missing) -> dict[str, str]:
    return {kind: number for kind, _, number in (line.partition(":") for line in lines_of(links)) if number}
