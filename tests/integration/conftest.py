"""What the tests against real servers share."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.servers.reference import Reference, summary
from tests.servers.watched import Watch, watching


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    """Starts watches of this machine, or of one behind SSH."""
    async with watching() as start:
        yield start


@pytest.fixture
def reference(record_property: Callable[[str, object], None]) -> Reference:
    """Programs that others wrote, to compare ours with."""
    return Reference(record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    summary(terminalreporter)
