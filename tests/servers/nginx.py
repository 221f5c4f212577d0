"""A real nginx with a private configuration on a free loopback port."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from loadtop.cli.demo.apache import service_user
from tests.servers.php_fpm import Fpm
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install nginx-light (Red Hat: dnf install nginx)"
ECHO_MODULE = Path("/usr/lib/nginx/modules/ngx_http_echo_module.so")
"""Comes with Debian's nginx-light. Without it, a test that needs a slow page puts nginx before a slow server."""

STATUS_PATH = "/nginx_status"


class Nginx(Server, frozen=True):
    """A running nginx. ``workers`` is the number of its worker processes; each has ``connections`` connections."""

    directory: Path
    port: int
    workers: int
    connections: int

    @property
    def url(self) -> str:
        """The address of the document root, with a slash at its end."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def slow_url(self) -> str:
        return f"{self.url}slow"

    @property
    def status_url(self) -> str:
        return f"{self.url.removesuffix('/')}{STATUS_PATH}"

    @property
    def error_log(self) -> Path:
        return self.directory / "error.log"

    def dropped(self) -> int:
        """Connections that it closed because a worker had none left, from its error log."""
        return self.error_log.read_text(errors="replace").count("worker_connections are not enough")


class NginxFactory:
    """Starts nginx servers and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(
        self,
        *,
        workers: int | str = 1,
        connections: int = 64,
        pages: Mapping[str, str] | None = None,
        proxy_pass: str = "",
        fastcgi_pass: Fpm | None = None,
        status: bool = True,
        slow_s: float | None = None,
        keepalive_s: int = 5,
        extra: str = "",
        launcher: Sequence[str] = (),
    ) -> Nginx:
        """Start one that serves ``pages`` (names to texts), or passes every request on to ``proxy_pass``.

        ``*.php`` goes to the pool ``fastcgi_pass``. ``/slow`` answers after ``slow_s`` seconds, which needs the echo
        module. ``extra`` is added to the server block, ``launcher`` goes before the command.
        """
        binary = find_program("nginx", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        port = free_port()
        for name, content in ({"index.html": "<p>It works.</p>\n"} | dict(pages or {})).items():
            page = directory / "pages" / name
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(content)
        locations = [
            f"location = {STATUS_PATH} {{ stub_status; allow 127.0.0.1; deny all; }}" if status else "",
            f"location = /slow {{ echo_sleep {slow_s}; echo hi; }}" if slow_s is not None else "",
            f"location / {{ proxy_pass {proxy_pass}; proxy_http_version 1.1; }}" if proxy_pass else "",
            _fastcgi(fastcgi_pass, directory) if fastcgi_pass is not None else "",
            extra,
        ]
        user = service_user()
        configuration = directory / "nginx.conf"
        configuration.write_text(f"""
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
{f"user {user.pw_name};" if user else ""}
{f"load_module {ECHO_MODULE};" if slow_s is not None else ""}
worker_processes {workers};
worker_rlimit_nofile 4096;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    keepalive_timeout {keepalive_s};
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port};
        root {directory}/pages;
        {" ".join(locations)}
    }}
}}
""")
        log = directory / "output.log"
        command = [binary, "-p", str(directory), "-c", str(configuration), "-e", str(directory / "error.log")]
        program = self._servers.enter_context(Program(command, log=log, launcher=launcher))
        server = Nginx(program, directory, port, workers if isinstance(workers, int) else 0, connections)
        program.wait_until(lambda: answers(port), server.error_log)
        return server


def _fastcgi(pool: Fpm, directory: Path) -> str:
    place = f"unix:{pool.socket}" if pool.socket else f"127.0.0.1:{pool.port}"
    return f"""location ~ \\.php$ {{
            fastcgi_pass {place};
            fastcgi_param SCRIPT_FILENAME {directory}/pages$fastcgi_script_name;
            fastcgi_param REQUEST_METHOD $request_method;
        }}"""
