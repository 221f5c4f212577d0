"""In a steady state, the parts of the response time sum to its mean: on recordings of real machines."""

from pathlib import Path

import pytest

from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from tests.lab.explained import explained, explained_of_recording
from tests.lab.keeping import unpack
from tests.unit.lab_recordings import RECORDINGS


@pytest.mark.parametrize(("name", "least"), [("disk-150-writes-a-second.", 0.8), ("disk-60-writes-a-second.", 0.8)])
def test_the_parts_sum_to_the_mean(name: str, least: float, tmp_path: Path) -> None:
    """Where the kernel tells all that a request waits for. Six intervals are too few for more."""
    (path,) = (path for path in RECORDINGS if path.name.startswith(name))
    close = explained_of_recording(unpack(path, tmp_path))
    assert len(close) >= 5
    assert sum(close) / len(close) >= least


def test_a_tenth_of_the_mean_may_remain() -> None:
    found = [Breakdown(50, 100.0, (Share(Part.CPU, "web1", "apache", ms),)) for ms in (89.0, 91.0, 109.0, 111.0)]
    assert explained(found) == [False, True, True, False]
