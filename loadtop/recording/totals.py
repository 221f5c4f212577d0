"""What a recording adds up to: kept in it when it ends, or computed from its frames.

Only the program that wrote the totals takes them as they are. Any other version, or other code, reads the frames.
"""

import json
import zlib
from functools import cache
from pathlib import Path

import loadtop
from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.codec import blanked
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
    return json.dumps(blanked(result.as_data())).encode()


@cache
def program() -> str:
    """The version of this program with a checksum of the code that computes totals."""
    package = Path(loadtop.__file__).parent
    total = 0
    for room in ROOMS:
        for path in sorted((package / room).rglob("*.py")):
            total = zlib.crc32(path.read_bytes(), total)
    return f"{loadtop.__version__} {total:08x}"
