"""What the tests against real servers share."""

from collections.abc import AsyncIterator

import pytest

from tests.servers.watched import Watch, watching


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    """Starts watches of this machine, or of one behind SSH."""
    async with watching() as start:
        yield start
