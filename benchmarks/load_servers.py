"""The servers that load tools are measured against: nginx and Apache on free loopback ports, with private files.

``return`` is an nginx that answers everything with 1 kB from its configuration, on as many processes as there are
cores: the cheapest answers that a real server gives, where more than one core of load is to be seen. The kernel deals
connections out to its processes (reuseport), so that none of them gets most.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType

from loadtop.cli.demo.apache import SEARCH_PATH, find_apache, service_user

PAGES = {"1k": 1024, "100k": 102400}

NGINX = """
daemon off;
worker_processes {processes};
worker_rlimit_nofile 20100;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 20000; }}
http {{
    access_log off;
    client_body_temp_path {directory};
    proxy_temp_path {directory};
    fastcgi_temp_path {directory};
    uwsgi_temp_path {directory};
    scgi_temp_path {directory};
    types {{ text/html html; }}
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    server {{ listen 127.0.0.1:{port} backlog=4096{listen}; {content}; }}
}}
"""

APACHE = """
DefaultRuntimeDir {directory}
PidFile {directory}/pid
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
ListenBacklog 4096
{modules}
{owner}
ErrorLog {directory}/error.log
TypesConfig /dev/null
DocumentRoot {directory}/pages
<Directory />
    Require all granted
</Directory>
KeepAlive On
MaxKeepAliveRequests 0
StartServers 2
ServerLimit 2
ThreadsPerChild 64
MaxRequestWorkers 128
MinSpareThreads 128
MaxSpareThreads 128
"""


@contextlib.contextmanager
def server(name: str) -> Generator[str]:
    """Run ``nginx``, ``return`` or ``apache``; the URL of its pages, ending in a slash. ``SystemExit`` where it is
    missing, and where the benchmark is reported to end: nothing of it stays."""
    with _orderly_end(), tempfile.TemporaryDirectory(prefix="loadtop-bench-") as place:
        directory = Path(place)
        directory.chmod(0o755)
        pages = directory / "pages"
        pages.mkdir()
        for page, size in PAGES.items():
            (pages / f"{page}.html").write_bytes(b"x" * size)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        # Where the benchmark is killed, the kernel ends the server.
        setpriv = shutil.which("setpriv", path=SEARCH_PATH)
        leash = [setpriv, "--pdeathsig", "TERM"] if setpriv else []
        process = subprocess.Popen([*leash, *_command(name, directory, port)], stderr=subprocess.DEVNULL)
        try:
            _await(process, port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def _orderly_end() -> Generator[None]:
    """Signals that would end this process at once end it as an exit does, unless someone else hears them."""
    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for number in heard:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _command(name: str, directory: Path, port: int) -> list[str]:
    configuration = directory / "server.conf"
    if name in ("nginx", "return"):
        binary = shutil.which("nginx", path=SEARCH_PATH)
        if binary is None:
            raise SystemExit("this benchmark needs nginx: apt-get install nginx-light")
        cheap = name == "return"
        content = f"return 200 {'x' * PAGES['1k']}" if cheap else f"root {directory}/pages"
        processes, listen = (os.cpu_count(), " reuseport") if cheap else (1, "")
        configuration.write_text(
            NGINX.format(directory=directory, port=port, processes=processes, listen=listen, content=content)
        )
        return [binary, "-c", str(configuration), "-e", str(directory / "error.log")]
    apache = find_apache()
    if apache is None:
        raise SystemExit("this benchmark needs Apache: apt-get install apache2")
    user = service_user()
    configuration.write_text(
        APACHE.format(
            directory=directory,
            port=port,
            modules=apache.load("mpm_event", "unixd", "authz_core", "mime"),
            owner=f"User {user.pw_name}\nGroup #{user.pw_gid}" if user else "",
        )
    )
    return [apache.binary, "-d", str(directory), "-f", str(configuration), "-DFOREGROUND"]


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit("the server for this benchmark does not start")
