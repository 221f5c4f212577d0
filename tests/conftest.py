"""Real servers for tests. Annotate with ``from tests.servers.apache import ApacheFactory`` and so on."""

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.nginx import NginxFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.sshd import SshdFactory

# Shells start background jobs with SIGINT ignored, nohup ignores SIGHUP, and every process below would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# In CI every run tries the same examples, so that a failure is of the change that it follows; elsewhere they vary. How
# long an example takes is the machine's matter, not the code's.
settings.register_profile(
    "loadtop", derandomize=bool(os.environ.get("CI")), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("loadtop")

REPEATS = 2
REAL = {"integration", "lab"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test with real servers is tried again, at most :data:`REPEATS` times, where it runs alone: it may measure time
    on a machine that is busy with something else. The summary names every one that needed it (``RERUN``)."""
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in items:
        if REAL & set(item.path.parts):
            item.add_marker(pytest.mark.flaky(reruns=REPEATS, reruns_delay=2))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why a test was tried again: what fails now and then is a defect too."""
    for report in terminalreporter.stats.get("rerun", ()):
        why = [line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
        terminalreporter.write_line(f"RERUN {report.nodeid}: {' | '.join(why)[:600]}")


@pytest.fixture
def servers() -> Iterator[contextlib.ExitStack]:
    """What is entered here is stopped at the end of the test, last started first."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def apache(servers: contextlib.ExitStack, php_fpm: FpmFactory) -> ApacheFactory:
    """``apache(mpm=..., php=..., workers=..., pages={...})`` starts a real Apache."""
    return ApacheFactory(servers, php_fpm)


@pytest.fixture
def php_fpm(servers: contextlib.ExitStack) -> FpmFactory:
    """``php_fpm(max_children=...)`` starts a real php-fpm."""
    return FpmFactory(servers)


@pytest.fixture
def haproxy(servers: contextlib.ExitStack) -> HaproxyFactory:
    """``haproxy([port, ...], maxconn=...)`` starts a real HAProxy before these ports."""
    return HaproxyFactory(servers)


@pytest.fixture
def nginx(servers: contextlib.ExitStack) -> NginxFactory:
    """``nginx(workers=..., connections=..., pages={...})`` starts a real nginx."""
    return NginxFactory(servers)


@pytest.fixture
def sshd(servers: contextlib.ExitStack) -> SshdFactory:
    """``sshd()`` starts a real sshd that lets this user in with a key of its own."""
    return SshdFactory(servers)
