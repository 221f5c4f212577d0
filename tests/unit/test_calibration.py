"""Confidence means something: over all recordings of the laboratory, with and without stolen time, what is said with a
confidence is right in about that share."""

import pytest

from tests.unit.calibration import Said, brier, reliability, said_of
from tests.unit.lab_recordings import RECORDINGS

MOST = 0.045
"""Of the Brier score: 0.032 and 0.042 were measured (docs/lab.md), and 0.16 before the confidences were calibrated."""


@pytest.mark.parametrize("stolen_pct", [0, 15])
def test_confidences_are_calibrated(stolen_pct: float) -> None:
    said = [each for recording in RECORDINGS for each in said_of(recording, stolen_pct)]
    assert brier(said) < MOST
    sure = [each.right for each in said if each.confidence >= 0.9]
    doubtful = [each.right for each in said if each.confidence < 0.5]
    assert sum(sure) > 0.9 * len(sure)
    assert 0 < sum(doubtful) < 0.5 * len(doubtful)


def test_the_score_and_the_table() -> None:
    said = [Said(1.0, right=True), Said(0.95, right=False), Said(0.25, right=False), Said(0.2, right=True)]
    assert brier(said) == pytest.approx((0.95**2 + 0.25**2 + 0.8**2) / 4)
    assert reliability(said) == ["| 0.2 to 0.3 | 2 | 0.23 | 0.50 |", "| 0.9 to 1.0 | 2 | 0.97 | 0.50 |"]
