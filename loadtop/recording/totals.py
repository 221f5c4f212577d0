"""What a recording adds up to: kept in it when it ends, or computed from its frames.

Only the program that wrote the totals takes them as they are. Any other version, or other code, reads the frames.
"""

import json
import zlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, cast

import loadtop
from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import Session

ROOMS = ("model", "rates", "servers", "diagnosis", "pipeline", "analysis")
"""The folders of this package that decide what the totals are."""


def result_of(session: Session) -> RunResult:
    """The result of the recorded test: the one that was kept, or that of all its frames."""
    stored = session.stored_totals(program())
    if stored is not None:
        try:
            return RunResult.from_data(json.loads(stored))
        except (ValueError, RecursionError):
            pass  # the frames give the same
    totals = Totals(session.meta.url or None, session.meta.command_line)
    for snapshot in snapshots(session.frames()):
        totals.add(snapshot)
    return totals.result()


def to_json(result: RunResult) -> bytes:
    """The result as JSON, without secrets."""
    return json.dumps(_without_secrets(result.as_data())).encode()


def _without_secrets(data: Any) -> Any:
    if isinstance(data, str):
        return url_without_secrets(data)
    if isinstance(data, dict):
        return {key: _without_secrets(value) for key, value in cast("dict[str, Any]", data).items()}
    return list(map(_without_secrets, cast("list[Any]", data))) if isinstance(data, (list, tuple)) else data


@cache
def program() -> str:
    """The version of this program with a checksum of the code that computes totals."""
    package = files(loadtop)
    total = 0
    for room in ROOMS:
        total = _checksum(package.joinpath(room), total)
    return f"{loadtop.__version__} {total:08x}"


def _checksum(place: Traversable, total: int) -> int:
    if place.is_dir():
        for each in sorted(place.iterdir(), key=lambda each: each.name):
            total = _checksum(each, total)
        return total
    return zlib.crc32(place.read_bytes(), total) if place.name.endswith(".py") else total
