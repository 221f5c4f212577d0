"""Snapshots of a made-up test, as the recordings' tests have them."""

from tests.unit.recording.conftest import made_moments

__all__ = ["made_moments"]
