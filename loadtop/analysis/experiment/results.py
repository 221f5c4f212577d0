"""The results of an experiment in a file, a line of JSON each: a cell that is in it is not measured again."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from loadtop.analysis.experiment.plan import Cell
from loadtop.analysis.statistic import Json
from loadtop.model.server import Role
from loadtop.servers.registry import KINDS

WEB = next(kind for kind in KINDS if kind.role is Role.WEB)  # whose workers httpd_running and busy show


MOST_BYTES = 1 << 26  # of the file: a cell takes 700
LONGEST, GREATEST = 1000, 1e15  # text and number in it


class CellResult(Struct, frozen=True, kw_only=True):
    """One cell, measured. Shares of time in percent, times in ms; what was not measured is ``None``.

    ``took_s`` is how long the cell took with everything around it; ``recording`` the file's name. The text beside a
    type is the figure's place in the JSON summary, whose machine under test is ``target``.
    """

    key: str
    variant: str
    url_name: str
    concurrency: int | None
    rate: float | None
    repeat: int
    requests: int
    failed: int
    non_2xx: int
    seconds: Annotated[float, "duration_s"]
    rps: Annotated[float | None, "load.rps"]
    mean_ms: Annotated[float | None, "load.latency_ms.mean"]
    p50_ms: Annotated[float | None, "load.latency_ms.p50"]
    p90_ms: Annotated[float | None, "load.latency_ms.p90"]
    p99_ms: Annotated[float | None, "load.latency_ms.p99"]
    max_ms: Annotated[float | None, "load.latency_ms.max"]
    idle_pct: Annotated[float | None, "target.cpu.idle.mean"]
    iowait_pct: Annotated[float | None, "target.cpu.iowait.mean"]
    swap_used_pct: Annotated[float | None, "target.swap.used_pct.mean"]
    swap_kb_s: float | None
    load1: Annotated[float | None, "target.load1.mean"]
    running: Annotated[float | None, "target.running.mean"]
    httpd_running: Annotated[float | None, f"target.{WEB.group}.running.mean"]
    busy: Annotated[float | None, f"target.{WEB.name}.busy.mean"]
    received_kb_s: float | None
    bottleneck: Annotated[str, "verdict.bottleneck"]
    host: Annotated[str | None, "verdict.host"]
    state: Annotated[str, "load.state"]
    took_s: float
    recording: str


_PLACES = {
    name: place.split(".")
    for name, hint in get_type_hints(CellResult, include_extras=True).items()
    for place in getattr(hint, "__metadata__", ())
}


def cell_result(cell: Cell, summary: Json, took_s: float, recording: str) -> CellResult:
    """From the JSON summary of a cell's test."""
    load, seconds, received = summary["load"], summary["duration_s"], summary["load"]["received_bytes"]
    tree = {**summary, "target": next((each for each in summary["hosts"] if "target" in (each["role"] or "")), None)}
    swap = [_at(tree, ("target", "swap", name, "mean")) for name in ("in_kb_s", "out_kb_s")]
    return CellResult(
        key=cell.key,
        variant=cell.variant.name,
        url_name=cell.url_name,
        concurrency=cell.level.concurrency,
        rate=cell.level.rate,
        repeat=cell.repeat,
        requests=load["requests"] or 0,
        failed=load["failed"] or 0,
        non_2xx=load["non_2xx"] or 0,
        swap_kb_s=None if None in swap else sum(swap),
        received_kb_s=None if not seconds or received is None else received / 1024 / seconds,
        took_s=took_s,
        recording=recording,
        **{name: _at(tree, place) for name, place in _PLACES.items()},
    )


def _at(tree: Any, place: Sequence[str]) -> Any:
    for name in place:
        tree = None if tree is None else tree.get(name)
    return tree


def _is_in_range(result: CellResult) -> bool:
    values = asdict(result).values()
    return all(len(each) <= LONGEST if isinstance(each, str) else abs(each or 0) <= GREATEST for each in values)


class ResultFile:
    """``cells.jsonl`` in the directory of an experiment. A line that is not a result is left out: it was cut off by a
    crash, or someone else wrote it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / "cells.jsonl"

    def read(self) -> dict[str, CellResult]:
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for a writer
        except FileNotFoundError:
            return {}
        with os.fdopen(descriptor, "rb") as file:
            lines = file.read(MOST_BYTES).splitlines()
        found: dict[str, CellResult] = {}
        for line in lines:
            try:
                result = msgspec.json.decode(line, type=CellResult)
            except (msgspec.MsgspecError, RecursionError):
                continue
            if _is_in_range(result):
                found[result.key] = result
        return found

    def add(self, result: CellResult) -> None:
        """Append a result, and wait until it is on the disk. Raises OSError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        cut = self.file.exists() and not self.file.read_bytes().endswith(b"\n") and self.file.stat().st_size > 0
        with self.file.open("a", encoding="utf-8") as file:
            file.write(("\n" if cut else "") + json.dumps(asdict(result)) + "\n")
            file.flush()
            os.fsync(file.fileno())
