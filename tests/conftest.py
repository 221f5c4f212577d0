"""Each test has directories of its own, and can start real servers: annotate with ``ApacheFactory`` and so on."""

import contextlib
import gc
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.mysql import MysqlFactory
from tests.servers.nginx import NginxFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.postgresql import PostgresqlFactory
from tests.servers.program import server_directory
from tests.servers.redis import RedisFactory
from tests.servers.service import ServiceFactory
from tests.servers.sshd import SshdFactory
from tests.servers.wsgi import GunicornFactory, UwsgiFactory

# Shells start background jobs with SIGINT ignored, nohup ignores SIGHUP, and every process below would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# In CI every run tries the same examples, so that a failure is of the change that it follows; elsewhere they vary. How
# long an example takes is the machine's matter, not the code's.
settings.register_profile(
    "loadtop", derandomize=bool(os.environ.get("CI")), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("loadtop")
settings.register_profile("few", parent=settings(), max_examples=10)  # make check-fast

TOP = tempfile.gettempdir()
"""Directories are made here, side by side: names of sockets must be short."""

DIRECTORIES = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
}


@contextlib.contextmanager
def own_directories() -> Generator[Path]:
    """HOME, the XDG directories and TMPDIR are in a new directory, and removed afterwards."""
    with server_directory(TOP) as directory, pytest.MonkeyPatch.context() as patch:
        for variable, name in DIRECTORIES.items():
            (directory / name).mkdir(mode=0o755)
            patch.setenv(variable, str(directory / name))
        patch.setattr(tempfile, "tempdir", None)  # it remembers the TMPDIR of before
        yield directory


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collection, a tenth of the time of the unit tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def directories_of_the_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For servers and recordings that several tests share."""
    tmp_path_factory.getbasetemp()  # made now, or it would be made in the TMPDIR of a test
    with own_directories():
        yield


@pytest.fixture(autouse=True)
def directories_of_the_test(directories_of_the_process: None) -> Iterator[None]:
    """No test reads or changes what the user, or another test, keeps."""
    del directories_of_the_process
    with own_directories():
        yield


@pytest.fixture
def servers() -> Iterator[contextlib.ExitStack]:
    """What is entered here is stopped at the end of the test, last started first."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def apache(servers: contextlib.ExitStack, php_fpm: FpmFactory) -> ApacheFactory:
    """``apache(mpm=..., php=..., workers=..., pages={...})`` starts a real Apache."""
    return ApacheFactory(servers, php_fpm)


def fixture_of(factory: Callable[[contextlib.ExitStack], object]) -> object:
    """Return a fixture that starts servers which live as long as the test."""

    @pytest.fixture
    def started(servers: contextlib.ExitStack) -> object:
        return factory(servers)

    return started


php_fpm = fixture_of(FpmFactory)  # php_fpm(max_children=...)
haproxy = fixture_of(HaproxyFactory)  # haproxy([port, ...], maxconn=...)
nginx = fixture_of(NginxFactory)  # nginx(workers=..., connections=..., pages={...})
mysql = fixture_of(MysqlFactory)  # mysql(max_connections=...)
postgresql = fixture_of(PostgresqlFactory)  # postgresql(max_connections=...)
redis = fixture_of(RedisFactory)  # redis(maxclients=..., password=...)
uwsgi = fixture_of(UwsgiFactory)  # uwsgi(workers=..., threads=..., seconds=...)
gunicorn = fixture_of(GunicornFactory)  # gunicorn(workers=..., threads=..., seconds=...)
service = fixture_of(ServiceFactory)  # a service of no known kind
sshd = fixture_of(SshdFactory)  # sshd()
