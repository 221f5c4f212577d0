"""What the tests against real servers share. Servers of a file are started when its first test asks for them."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from loadtop.recording.state import directory
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.reference import Reference, summary
from tests.servers.sshd import Sshd, SshdFactory
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


@pytest.fixture
def state() -> Path:
    """Where recordings go, in a directory of the test's own."""
    return directory()


@pytest.fixture(scope="module")
def of_the_file() -> Iterator[contextlib.ExitStack]:
    """What is entered here is stopped after the last test of the file."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def web(of_the_file: contextlib.ExitStack) -> Apache:
    """An Apache with a page of 1000 bytes, for tests that only need something to load. Its log is everyone's."""
    return ApacheFactory(of_the_file, FpmFactory(of_the_file))(pages={"index.html": "x" * 1000})


@pytest.fixture(scope="module")
def waiting(of_the_file: contextlib.ExitStack) -> Apache:
    """An Apache whose ``page.php`` takes 100 ms, with six workers. Its log is everyone's."""
    factory = ApacheFactory(of_the_file, FpmFactory(of_the_file))
    return factory(mpm="prefork", php="mod", workers=6, pages={"page.php": "<?php usleep(100000); echo 'waited';"})


@pytest.fixture(scope="module")
def machine(of_the_file: contextlib.ExitStack) -> Sshd:
    """A remote host. A test that changes it, or looks at what all its connections run there, starts its own."""
    return SshdFactory(of_the_file)()
