"""The recordings of the laboratory, each named after the limit that was proven."""

from pathlib import Path

from loadtop.servers.registry import VERDICT_NAMES
from tests.lab.keeping import SUFFIX

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "lab").glob(f"*{SUFFIX}"))
_NAMES = sorted(VERDICT_NAMES, key=len, reverse=True)


def limit_of(path: Path) -> str:
    """The limit that a recording is named after."""
    return next(name for name in _NAMES if path.stem.startswith(f"{name}-"))
