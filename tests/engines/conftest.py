"""These tests need JMeter, which is not installed for every run: `make test-engines` does, and a line says so else."""

import pytest

_left_out = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "engines" in str(config.option.markexpr):
        return
    left_out = [item for item in items if item.get_closest_marker("engines")]
    config.stash[_left_out] = len(left_out)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("engines")]


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    count = config.stash.get(_left_out, 0)
    return f"left out: {count} tests of JMeter, which `make test-engines` runs" if count else ""
