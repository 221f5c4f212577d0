"""Where a process lives: in the machine's own namespaces, or in those of a container.

Source: Linux, namespaces(7) and proc(5): two processes share a namespace exactly if the links in /proc/PID/ns lead to
the same; /proc/PID/root is the root directory as that process sees it, mounts of its own included. Both need the rights
that ptrace needs: without them a process is taken for one of the machine's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from collectors.reading import Missing, Texts, Wanted, lines_of


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
