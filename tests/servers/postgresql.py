"""A real PostgreSQL with a data directory of its own."""

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.servers.program import Program, Server, find_program, free_port, server_directory

INSTALL = "apt-get install postgresql (Red Hat: dnf install postgresql-server)"
SUPERUSER = "postgres"  # of Debian's and Red Hat's packages; root cannot run a server


class Postgresql(Server, frozen=True):
    """A running server, whose unix socket knows the user who asks."""

    directory: Path
    port: int
    launcher: tuple[str, ...]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def unix_socket(self) -> Path:
        return self.directory / f".s.PGSQL.{self.port}"

    @property
    def client(self) -> list[str]:
        """The command of the superuser's client to which statements are added."""
        program = find_program("psql", install=INSTALL)
        user = SUPERUSER if self.launcher else getpass.getuser()
        place = (f"--host={self.directory}", f"--port={self.port}", "--dbname=postgres", f"--username={user}")
        return [*self.launcher, program, "--no-psqlrc", "--tuples-only", "--no-align", *place, "--command"]

    def run(self, statements: str) -> str:
        """What the client prints."""
        done = subprocess.run([*self.client, statements], capture_output=True, text=True, timeout=20.0)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self, statements: str, database: str = "postgres") -> "subprocess.Popen[bytes]":
        """Run these statements beside the test, in one transaction."""
        command = [*self.client, statements, f"--dbname={database}"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class PostgresqlFactory:
    """Starts servers and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(self, *, max_connections: int = 20) -> Postgresql:
        """Start one that takes so many connections, three of them of the superuser alone."""
        directory = self._servers.enter_context(server_directory())
        data = directory / "data"
        data.mkdir(mode=0o700)
        launcher: tuple[str, ...] = ()
        if os.geteuid() == 0:
            shutil.chown(directory, SUPERUSER)
            shutil.chown(data, SUPERUSER)
            setpriv = find_program("setpriv", install="apt-get install util-linux")
            launcher = (setpriv, f"--reuid={SUPERUSER}", f"--regid={SUPERUSER}", "--clear-groups", "--pdeathsig=TERM")
        _make([*launcher, _program("initdb"), "-D", str(data), "--auth-local=peer", "--auth-host=scram-sha-256", "-N"])
        port = free_port()
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(directory),
            "max_connections": str(max_connections),
            "shared_buffers": "1MB",
            "fsync": "off",
        }
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [_program("postgres"), "-D", str(data), "-p", str(port), *settings]
        program = self._servers.enter_context(Program(command, log=directory / "output.log", launcher=launcher))
        self._servers.callback(program.stop, signal.SIGINT)  # it would wait for its clients after SIGTERM
        server = Postgresql(program, directory, port, launcher)
        status = data / "postmaster.pid"
        program.wait_until(lambda: status.exists() and "\nready" in status.read_text())
        return server


def _program(name: str) -> str:
    """A program of the newest version; Debian keeps those that start servers out of the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: path.parts[-3].zfill(3))
    return str(versions[-1]) if versions else find_program(name, install=INSTALL)


def _make(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")
    if done.returncode:
        pytest.fail(f"no data directory can be made: {done.stdout}{done.stderr}", pytrace=False)
