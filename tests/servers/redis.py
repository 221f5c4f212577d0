"""A real Redis on a free loopback port, without files of its data."""

import contextlib
import socket
from pathlib import Path

from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install redis-server (Red Hat: dnf install redis)"


class Redis(Server, frozen=True):
    """A running Redis."""

    directory: Path
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def unix_socket(self) -> Path:
        return self.directory / "redis.sock"

    def client(self) -> socket.socket:
        """A connection, for commands of RESP's inline form."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10.0)

    def run(self, *commands: str) -> str:
        """What it answers to these commands, one after another on one connection."""
        with self.client() as link:
            link.sendall("".join(f"{command}\r\n" for command in (*commands, "QUIT")).encode())
            return b"".join(iter(lambda: link.recv(65536), b"")).decode()


class RedisFactory:
    """Starts Redis servers and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(self, *, maxclients: int = 50, password: str = "") -> Redis:
        """Start one that takes so many clients, and asks for the password if there is one."""
        binary = find_program("redis-server", "valkey-server", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        port = free_port()
        configuration = directory / "redis.conf"
        secret = f"requirepass {password}" if password else ""
        configuration.write_text(f"""
bind 127.0.0.1
port {port}
unixsocket {directory}/redis.sock
dir {directory}
save ""
maxclients {maxclients}
{secret}
""")
        log = directory / "output.log"
        program = self._servers.enter_context(Program([binary, str(configuration)], log=log))
        server = Redis(program, directory, port)
        program.wait_until(lambda: answers(port) and server.unix_socket.exists())
        return server
