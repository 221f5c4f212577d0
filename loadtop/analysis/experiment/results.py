"""The results of an experiment in a file, a line of JSON each: a cell that is in it is not measured again."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loadtop.analysis.experiment.plan import Cell
from loadtop.model.server import Role
from loadtop.servers.registry import KINDS

WEB = next(kind for kind in KINDS if kind.role is Role.WEB)  # whose workers httpd_running and busy show


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell, measured. Shares of time in percent, times in ms; what was not measured is ``None``.

    ``took_s`` is how long the cell took with everything around it; ``recording`` the file's name.
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
    seconds: float
    rps: float | None
    mean_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    idle_pct: float | None
    iowait_pct: float | None
    swap_used_pct: float | None
    swap_kb_s: float | None
    load1: float | None
    running: float | None
    httpd_running: float | None
    busy: float | None
    received_kb_s: float | None
    bottleneck: str
    host: str | None
    state: str
    took_s: float
    recording: str


def cell_result(cell: Cell, figures: dict[str, Any], took_s: float, recording: str) -> CellResult:
    """From the JSON summary of a cell's test; the machine is the target."""
    load = figures["load"]
    latency: dict[str, Any] = load["latency_ms"] or {}
    hosts: list[dict[str, Any]] = figures["hosts"]
    host = next((each for each in hosts if "target" in (each["role"] or "")), None)
    swap = [_mean(host, "swap", name) for name in ("in_kb_s", "out_kb_s")]
    seconds = figures["duration_s"]
    received = load["received_bytes"]
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
        seconds=seconds,
        rps=load["rps"],
        **{f"{name}_ms": latency.get(name) for name in ("mean", "p50", "p90", "p99", "max")},
        idle_pct=_mean(host, "cpu", "idle"),
        iowait_pct=_mean(host, "cpu", "iowait"),
        swap_used_pct=_mean(host, "swap", "used_pct"),
        swap_kb_s=None if None in swap else sum(each for each in swap if each is not None),
        load1=_mean(host, "load1"),
        running=_mean(host, "running"),
        httpd_running=_mean(host, WEB.group, "running"),
        busy=_mean(host, WEB.name, "busy"),
        received_kb_s=None if not seconds or received is None else received / 1024 / seconds,
        bottleneck=figures["verdict"]["bottleneck"],
        host=figures["verdict"]["host"],
        state=load["state"],
        took_s=took_s,
        recording=recording,
    )


def _mean(tree: Any, *names: str) -> float | None:
    for name in (*names, "mean"):
        if tree is None:
            return None
        tree = tree.get(name)
    return tree if isinstance(tree, int | float) else None


class ResultFile:
    """``cells.jsonl`` in the directory of an experiment. A line that was cut off by a crash is left out."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / "cells.jsonl"

    def read(self) -> dict[str, CellResult]:
        try:
            lines = self.file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        found: dict[str, CellResult] = {}
        for line in lines:
            try:
                result = CellResult(**json.loads(line))
            except (ValueError, TypeError):
                continue
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
