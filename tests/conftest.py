"""Each test has directories of its own, and can start real servers: annotate with ``ApacheFactory`` and so on."""

import contextlib
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
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
settings.register_profile("few", parent=settings(), max_examples=20)  # make check-fast

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
def mysql(servers: contextlib.ExitStack) -> MysqlFactory:
    """``mysql(max_connections=...)`` starts a real MariaDB or MySQL."""
    return MysqlFactory(servers)


@pytest.fixture
def postgresql(servers: contextlib.ExitStack) -> PostgresqlFactory:
    """``postgresql(max_connections=...)`` starts a real PostgreSQL."""
    return PostgresqlFactory(servers)


@pytest.fixture
def redis(servers: contextlib.ExitStack) -> RedisFactory:
    """``redis(maxclients=..., password=...)`` starts a real Redis."""
    return RedisFactory(servers)


@pytest.fixture
def uwsgi(servers: contextlib.ExitStack) -> UwsgiFactory:
    """``uwsgi(workers=..., threads=..., seconds=...)`` starts a real uWSGI."""
    return UwsgiFactory(servers)


@pytest.fixture
def gunicorn(servers: contextlib.ExitStack) -> GunicornFactory:
    """``gunicorn(workers=..., threads=..., seconds=...)`` starts a real gunicorn."""
    return GunicornFactory(servers)


@pytest.fixture
def service(servers: contextlib.ExitStack) -> ServiceFactory:
    """Starts services of no known kind that live as long as the test."""
    return ServiceFactory(servers)


@pytest.fixture
def sshd(servers: contextlib.ExitStack) -> SshdFactory:
    """``sshd()`` starts a real sshd that lets this user in with a key of its own."""
    return SshdFactory(servers)
