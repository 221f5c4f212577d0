"""A real uWSGI or gunicorn before a small application, on free loopback ports or a unix socket."""

import contextlib
import socket
from pathlib import Path

from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install uwsgi uwsgi-plugin-python3 (Red Hat: dnf install uwsgi uwsgi-plugin-python3)"

APPLICATION = """
import time


def application(environ, start_response):
    time.sleep({seconds})
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "3")])
    return [b"ok\\n"]
"""


def wsgi_application(directory: Path, seconds: float) -> Path:
    """A module whose ``application`` takes so many seconds for each request."""
    module = directory / "slow.py"
    module.write_text(APPLICATION.format(seconds=seconds))
    return module


class Uwsgi(Server, frozen=True):
    """A running uWSGI. ``port`` speaks HTTP, ``workers`` is the socket for a web server, ``stats`` the stats server."""

    port: int
    workers: Path
    stats: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def uwsgi_pass(self) -> str:
        """The location of an nginx before it."""
        return f"location /app {{ include /etc/nginx/uwsgi_params; uwsgi_pass unix:{self.workers}; }}"

    def answer(self) -> str:
        """What the stats server sends."""
        with socket.create_connection(("127.0.0.1", int(self.stats.rpartition(":")[2])), timeout=10.0) as link:
            return b"".join(iter(lambda: link.recv(65536), b"")).decode()


class Gunicorn(Server, frozen=True):
    """A running gunicorn at ``port`` or at the unix ``socket``."""

    port: int | None
    socket: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def proxy_pass(self) -> str:
        return f"http://unix:{self.socket}" if self.port is None else self.url


class GunicornFactory:
    """Starts gunicorns and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(self, *, workers: int = 2, threads: int = 1, seconds: float = 0.1, tcp: bool = True) -> Gunicorn:
        """Start one whose application takes ``seconds``."""
        binary = find_program("gunicorn", install="apt-get install gunicorn (Red Hat: dnf install python3-gunicorn)")
        directory = self._servers.enter_context(server_directory())
        port, path = free_port() if tcp else None, directory / "app.sock"
        wsgi_application(directory, seconds)
        (directory / "gunicorn.conf.py").write_text(f"threads = {threads}\n")
        place = f"127.0.0.1:{port}" if port else f"unix:{path}"
        command = [binary, "--chdir", str(directory), "-w", str(workers), "--bind", place, "slow:application"]
        command += ["--config", str(directory / "gunicorn.conf.py")]
        program = self._servers.enter_context(Program(command, log=directory / "output.log"))
        program.wait_until(lambda: answers(port) if port else path.exists())
        return Gunicorn(program, port, path)


class UwsgiFactory:
    """Starts uWSGIs and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(
        self, *, workers: int = 2, threads: int = 1, seconds: float = 0.1, stats: bool = True, extra: str = ""
    ) -> Uwsgi:
        """Start one whose application takes ``seconds``; ``extra`` is added to its ini file."""
        binary = find_program("uwsgi", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        port, stats_port = free_port(), free_port()
        ini = directory / "app.ini"
        ini.write_text(f"""[uwsgi]
plugins = http,python3
master = true
http = 127.0.0.1:{port}
socket = {directory}/%n.sock
chmod-socket = 666
wsgi-file = {wsgi_application(directory, seconds)}
workers = {workers}
threads = {threads}
need-app = true
{f"stats = 127.0.0.1:{stats_port}" if stats else ""}
{extra}
""")
        log = directory / "output.log"
        command = [binary, "--die-on-term", "--ini", str(ini)]
        program = self._servers.enter_context(Program(command, log=log))
        program.wait_until(lambda: answers(port) and (not stats or answers(stats_port)))
        return Uwsgi(program, port, directory / "app.sock", f"127.0.0.1:{stats_port}" if stats else "")
