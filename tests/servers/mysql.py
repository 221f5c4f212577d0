"""A real MariaDB or MySQL with a data directory of its own."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from loadtop.cli.demo.apache import SEARCH_PATH
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install mariadb-server (Red Hat: dnf install mariadb-server)"


class Mysql(Server, frozen=True):
    """A running server. The user of the test is its administrator, by the unix socket."""

    directory: Path
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def unix_socket(self) -> Path:
        return self.directory / "mysql.sock"

    @property
    def client(self) -> list[str]:
        """The command of a client to which statements are added."""
        program = find_program("mariadb", "mysql", install=INSTALL)
        return [program, "--no-defaults", f"--socket={self.unix_socket}", "--batch", "--execute"]

    def run(self, statements: str) -> str:
        """What the client prints."""
        done = subprocess.run([*self.client, statements], capture_output=True, text=True, timeout=20.0)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, statements: str) -> "subprocess.Popen[bytes]":
        """Run these statements beside the test."""
        command = [*self.client, statements]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class MysqlFactory:
    """Starts servers and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(self, *, max_connections: int = 30, launcher: Sequence[str] = ()) -> Mysql:
        """Start one that takes so many connections, and one more of an administrator."""
        binary = find_program("mariadbd", "mysqld", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        data = directory / "data"
        data.mkdir()
        port = free_port()
        user = ["--user=mysql"] if os.geteuid() == 0 else []
        if user:
            shutil.chown(directory, "mysql")
            shutil.chown(data, "mysql")
        environment = {**os.environ, "PATH": SEARCH_PATH, "TMPDIR": str(directory)}
        install = [find_program("mariadb-install-db", install=INSTALL), "--no-defaults", f"--datadir={data}", *user]
        _make([*install, "--auth-root-authentication-method=socket", "--skip-test-db"], environment)
        options = [
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={directory}/mysql.sock",
            f"--pid-file={directory}/mysql.pid",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--max-connections={max_connections}",
            "--innodb-buffer-pool-size=8M",
            "--innodb-log-file-size=4M",
            "--skip-name-resolve",
        ]
        log = directory / "output.log"
        program = Program([binary, *options, *user], log=log, environment=environment, launcher=launcher)
        self._servers.enter_context(program)
        server = Mysql(program, directory, port)
        program.wait_until(lambda: answers(port) and server.unix_socket.exists())
        return server


def _make(command: Sequence[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode:
        pytest.fail(f"{command[0]} cannot make a data directory: {done.stdout}{done.stderr}", pytrace=False)
