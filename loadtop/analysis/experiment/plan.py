"""What a PLAN asks for: variants of the server, load steps, repeats; and the cells that this makes."""

import hashlib
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMAND_S, READY_S = 60.0, 30.0


@dataclass(frozen=True, slots=True)
class Level:
    """How much load: connections (closed model) or requests per second (open model)."""

    concurrency: int | None = None
    rate: float | None = None

    @property
    def label(self) -> str:
        return f"c={self.concurrency}" if self.rate is None else f"{self.rate:g}/s"

    @property
    def words(self) -> list[str]:
        """The same on the command line of a load test."""
        return ["-c", str(self.concurrency)] if self.rate is None else ["--rate", f"{self.rate:g}"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A state of the server. ``apply`` are shell commands that bring it about, on ``host`` (``None``: here).

    ``ready`` is a URL that must answer below 500, or a shell command that must succeed, within ``ready_s`` seconds.
    ``urls`` and ``levels`` are its own where it has any; ``options`` are added to the plan's.
    """

    name: str
    apply: tuple[str, ...]
    ready: str = ""
    host: str | None = None
    ready_s: float = READY_S
    command_s: float = COMMAND_S
    urls: tuple[tuple[str, str], ...] = ()
    levels: tuple[Level, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: a variant under one load, for the ``repeat``-th time (from 1)."""

    variant: Variant
    url_name: str
    url: str
    level: Level
    repeat: int
    words: tuple[str, ...]

    @property
    def key(self) -> str:
        """What this cell is, as a name that changes with everything that it depends on."""
        what: list[Any] = [
            self.variant.name, self.variant.apply, self.variant.host, self.variant.ready, self.words, self.repeat
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """Variant, URL and level in words."""
        return " ".join(filter(None, [self.variant.name, self.url_name, self.level.label]))


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """A whole PLAN. ``options`` are words of a load test's command line that every cell gets; ``finish`` are commands
    that run when all is over. ``file`` is where it was read from: commands run in its directory."""

    file: Path
    title: str
    variants: tuple[Variant, ...]
    urls: tuple[tuple[str, str], ...]
    levels: tuple[Level, ...]
    time_s: float | None
    requests: int | None
    warmup_s: float
    repeats: int
    shuffle: bool
    seed: int
    options: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()
    hosts: dict[str, str] = field(default_factory=dict[str, str])

    def words(self, variant: Variant, url: str, level: Level) -> tuple[str, ...]:
        """The command line of a load test that measures this."""
        bound = ["-t", f"{self.time_s:g}"] if self.requests is None else ["-n", str(self.requests)]
        warm = ["--warmup", f"{self.warmup_s:g}"] if self.warmup_s else []
        return (*self.options, *variant.options, *level.words, *bound, *warm, url)

    def cells(self) -> list[Cell]:
        """All cells in the order in which they are measured; shuffled within each repeat where that is wanted.

        Whole repeats follow each other, so that what changes over time on the machine falls on all variants alike.
        """
        order = random.Random(self.seed)  # noqa: S311 - an order that can be repeated, no secret
        found: list[Cell] = []
        for repeat in range(1, self.repeats + 1):
            part = [
                Cell(variant, name, url, level, repeat, self.words(variant, url, level))
                for variant in self.variants
                for name, url in variant.urls or self.urls
                for level in variant.levels or self.levels
            ]
            if self.shuffle:
                order.shuffle(part)
            found += part
        return found

    def seconds(self, done: Sequence[float] = ()) -> float | None:
        """About how long a cell takes: what those before took, or its time; ``None`` where neither is known."""
        if done:
            return sum(done) / len(done)
        return None if self.time_s is None else self.time_s + self.warmup_s + 2.0


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([A-Za-z0-9_-]+))\s*=")


def line_of(text: str, table: str, index: int, key: str) -> int:
    """The line (from 1) of ``key`` in the ``index``-th ``[table]`` or ``[[table]]`` (from 0; "" is the top level).

    A table below another has that one's index. A key of the top level may be a table itself. Where the key is not
    there, the line of the table's header; 1 where that is not there either.
    """
    current, counts, at = "", dict[str, int](), 1
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None and "=" not in line.split("#")[0]:
            current = header[2]
            above = current.rpartition(".")[0]
            counts[current] = counts[above] if above in counts else counts.get(current, -1) + 1
            if not table and current == key:
                return number
            if current == table and counts[current] == index:
                at = number
            continue
        if current != table or counts.get(table, 0) != index:
            continue
        found = _KEY.match(line)
        if found is not None and (found[1] or found[2] or found[3]) == key:
            return number
    return at
