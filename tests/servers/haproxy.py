"""A real HAProxy before servers on the loopback."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from loadtop.cli.demo.apache import service_user
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install haproxy"


class Haproxy(Server, frozen=True):
    """A running HAProxy: frontend ``fe``, backend ``be`` with servers ``s1``, ``s2``, ... and a statistics page."""

    directory: Path
    port: int
    stats_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def stats_url(self) -> str:
        """Add ``;csv`` for the table."""
        return f"http://127.0.0.1:{self.stats_port}/stats"

    @property
    def stats_socket(self) -> Path:
        return self.directory / "stats.sock"


class HaproxyFactory:
    """Starts HAProxies and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(
        self,
        ports: Sequence[int],
        *,
        maxconn: int | None = None,
        queue_s: int = 30,
        extra: str = "",
        as_user: bool = False,
    ) -> Haproxy:
        """Start one that balances over these loopback ports, with ``maxconn`` connections to each at most.

        ``extra`` is added to the backend's section. ``as_user``: if root starts it, it serves as an unprivileged user.
        """
        binary = find_program("haproxy", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        port, stats_port = free_port(), free_port()
        limit = f" maxconn {maxconn}" if maxconn else ""
        servers = "\n".join(f"    server s{n} 127.0.0.1:{to}{limit}" for n, to in enumerate(ports, 1))
        user = service_user() if as_user else None
        configuration = directory / "haproxy.cfg"
        configuration.write_text(f"""
global
    stats socket {directory}/stats.sock mode 600 level admin
{f"    user {user.pw_name}" if user else ""}
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue {queue_s}s
frontend fe
    bind 127.0.0.1:{port}
    default_backend be
backend be
{servers}
{extra}
frontend stats
    bind 127.0.0.1:{stats_port}
    stats enable
    stats uri /stats
""")
        log = directory / "output.log"
        program = self._servers.enter_context(Program([binary, "-db", "-f", str(configuration)], log=log))
        haproxy = Haproxy(program, directory, port, stats_port)
        program.wait_until(lambda: haproxy.stats_socket.exists() and answers(port) and answers(stats_port))
        return haproxy
