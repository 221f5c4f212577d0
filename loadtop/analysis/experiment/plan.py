"""The contents of a PLAN: variants of the server, load steps, repeats; and the resulting cells."""

import hashlib
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from loadtop.generator.plan import MAX_CONNECTIONS, MAX_RATE
from loadtop.model import LoadLevel


def _between(least: float, most: float, kind: str = "a number") -> Meta:
    return Meta(ge=least, le=most, description=f"{kind} from {least} to {most}")


Text = Annotated[str, Meta(description="a string", examples=['"..."'])]
Texts = Annotated[tuple[str, ...], Meta(description="a list of strings", examples=['["...", "..."]'])]


class PlanTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys that the plan and each of its variants can have. ``options`` are words of a load test's command line.
    Times are in seconds. The metadata say what the value of a key must be."""

    urls: Annotated[
        dict[str, Any], Meta(description='a table of names and URLs: write [urls] and page = "http://..."')
    ] = {}
    concurrencies: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MAX_CONNECTIONS)], ...],
        Meta(description=f"a list of whole numbers from 1 to {MAX_CONNECTIONS}", examples=["[1, 10, 20]"]),
    ] = ()
    rates: Annotated[
        tuple[Annotated[float, Meta(gt=0, le=MAX_RATE)], ...],
        Meta(description="a list of numbers above 0", examples=["[1, 10, 20]"]),
    ] = ()
    options: Texts = ()

    @property
    def levels(self) -> tuple[LoadLevel, ...]:
        return (*map(LoadLevel, self.concurrencies), *(LoadLevel(rate=each) for each in self.rates))


class Variant(PlanTable, frozen=True, kw_only=True):
    """A state of the server. ``apply`` are shell commands that bring it about, on ``host`` (empty: here).

    ``ready`` is a URL that must answer below 500, or a shell command that must succeed, within ``ready_time``.
    ``urls`` and ``levels`` are its own where it has any; ``options`` are added to the plan's.
    """

    name: Annotated[str, Meta(pattern=r"\S", description="a string", examples=['"..."'])]
    apply: Texts = ()
    ready: Text = ""
    host: Text = ""
    ready_time: Annotated[float, _between(0.1, 3_600)] = 30.0
    command_time: Annotated[float, _between(0.1, 3_600)] = 60.0


class Cell(Struct, frozen=True):
    """One measurement: a variant under one load, for the ``repeat``-th time (from 1)."""

    variant: Variant
    url_name: str
    url: str
    level: LoadLevel
    repeat: int
    words: tuple[str, ...]

    @property
    def key(self) -> str:
        """What this cell is, as a name that changes with everything that it depends on."""
        variant = self.variant
        what = [variant.name, variant.apply, variant.host or None, variant.ready, self.words, self.repeat]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        return " ".join(filter(None, [self.variant.name, self.url_name, self.level.label]))


class PlanKeys(PlanTable, frozen=True, kw_only=True):
    """The keys of a PLAN. A cell lasts ``time``, or ``requests`` if there are any. ``finish`` are commands that run
    when all is over."""

    title: Text
    time: Annotated[float, _between(0.1, 86_400)] = 10.0
    requests: Annotated[int, _between(1, 10**9, "a whole number")] = 0
    warmup: Annotated[float, _between(0, 3_600)] = 0.0
    repeats: Annotated[int, _between(1, 1_000, "a whole number")] = 1
    shuffle: Annotated[bool, Meta(description="true or false")] = False
    seed: Annotated[int, _between(0, 2**31, "a whole number")] = 1
    finish: Texts = ()
    variants: tuple[Variant, ...] = ()


class ExperimentPlan(PlanKeys, frozen=True, kw_only=True):
    """A whole PLAN. ``file`` is where it was read from: commands run in its directory. ``hosts`` are places by name."""

    file: Path
    hosts: dict[str, str] = {}

    def words(self, variant: Variant, url: str, level: LoadLevel) -> tuple[str, ...]:
        load = ["-c", str(level.concurrency)] if level.rate is None else ["--rate", f"{level.rate:g}"]
        bound = ["-t", f"{self.time:g}"] if not self.requests else ["-n", str(self.requests)]
        warm = ["--warmup", f"{self.warmup:g}"] if self.warmup else []
        return (*self.options, *variant.options, *load, *bound, *warm, url)

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
                for name, url in (variant.urls or self.urls).items()
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
        return None if self.requests else self.time + self.warmup + 2.0


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
