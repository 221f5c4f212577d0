"""A real Apache with a private configuration on a free loopback port."""

import contextlib
import http.client
import re
import ssl
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from loadtop.cli.demo.apache import ApacheInstallation, find_apache, service_user
from tests.servers.php_fpm import Fpm, FpmFactory
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

Mpm = Literal["prefork", "worker", "event"]
Php = Literal["mod", "fpm"]

INSTALL = "apt-get install apache2 (Red Hat: dnf install httpd)"
INSTALL_PHP = "apt-get install libapache2-mod-php (Red Hat: dnf install php)"
MODULES = ("log_config", "logio", "unixd", "authz_core", "authz_host", "dir", "mime", "env", "headers", "setenvif")
LOG_FORMAT = r"%h [%{%s}t.%{msec_frac}t] \"%r\" %>s %B %O %I %D %k"
LOG_LINE = re.compile(r'\S+ \[([\d.]+)\] "(.*)" (\d+|-) (\d+) (\d+) (\d+) (\d+) (\d+)')
STATUS_PATHS = ("/server-status", "/fpm-status")


class LoggedRequest(NamedTuple):
    """One line of the access log. ``body_bytes`` is what it says, other bytes are those on the wire.

    ``reused`` is 0 for the first request of a connection.
    """

    at: float
    line: str
    status: int
    body_bytes: int
    sent_bytes: int
    received_bytes: int
    took_us: int
    reused: int


class Apache(Server, frozen=True):
    """A running Apache. ``certificate`` is its own (self-signed) one where it speaks TLS; ``fpm`` its php-fpm."""

    directory: Path
    port: int
    scheme: str
    mpm: str
    workers: int
    certificate: Path | None
    fpm: Fpm | None

    @property
    def url(self) -> str:
        """The address of the document root, with a slash at its end."""
        return f"{self.scheme}://127.0.0.1:{self.port}/"

    @property
    def status_url(self) -> str:
        return f"{self.url}server-status"

    @property
    def fpm_status_url(self) -> str:
        return f"{self.url}fpm-status"

    @property
    def documents(self) -> Path:
        return self.directory / "pages"

    @property
    def access_log(self) -> Path:
        return self.directory / "access.log"

    @property
    def error_log(self) -> Path:
        return self.directory / "error.log"

    def requests(self) -> list[str]:
        """The access log's lines without those of status pages, read when no line has come for 0.4 s.

        Apache writes a line after the response, and also where a client has gone away before it.
        """
        before = -1
        while before != (size := self.access_log.stat().st_size):
            before = size
            time.sleep(0.4)
        lines = self.access_log.read_text(errors="replace").splitlines()
        return [line for line in lines if not any(f" {path}" in line for path in STATUS_PATHS)]

    def logged(self) -> list[LoggedRequest]:
        """:meth:`requests`, taken apart."""
        found = [LOG_LINE.fullmatch(line) for line in self.requests()]
        return [_logged(match) for match in found if match is not None]

    def stop(self) -> None:
        self.program.stop()
        if self.fpm is not None:
            self.fpm.stop()


def _logged(match: re.Match[str]) -> LoggedRequest:
    at, line, status, body, sent, received, took, reused = match.groups()
    code = 0 if status == "-" else int(status)
    return LoggedRequest(float(at), line, code, int(body), int(sent), int(received), int(took), int(reused))


class ApacheFactory:
    """Starts Apaches and stops them all. ``launcher`` goes before the command (to enter a cgroup, say)."""

    def __init__(self, servers: contextlib.ExitStack, php_fpm: FpmFactory) -> None:
        self._servers = servers
        self._php_fpm = php_fpm

    def __call__(
        self,
        *,
        mpm: Mpm = "event",
        php: Php | None = None,
        workers: int = 8,
        pages: Mapping[str, str | bytes] | None = None,
        status: bool = True,
        tls: bool = False,
        keepalive_s: int = 5,
        fpm_children: int = 8,
        fpm_launcher: Sequence[str] = (),
        extensions: Sequence[str] = (),
        extra: str = "",
        launcher: Sequence[str] = (),
    ) -> Apache:
        """Start one that serves ``pages`` (names to texts; ``*.php`` runs with ``php``, ``*.cgi`` is a program).

        It has exactly ``workers`` worker slots; mod_php loads ``extensions``; ``extra`` is added to its configuration.
        """
        installation = _installation()
        directory = self._servers.enter_context(server_directory())
        port = free_port()
        pages = {"index.html": "<p>It works.</p>\n"} | dict(pages or {})
        _write_pages(directory / "pages", pages)
        fpm = self._php_fpm(max_children=fpm_children, launcher=fpm_launcher) if php == "fpm" else None
        certificate = _certify(directory) if tls else None
        parts = [
            _base(directory, installation, port),
            _mpm(installation, mpm, workers),
            f"KeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout {keepalive_s}" if keepalive_s else "KeepAlive Off",
            _cgi(installation, mpm, directory) if any(name.endswith(".cgi") for name in pages) else "",
            _mod_php(installation, directory, extensions) if php == "mod" else "",
            _proxied_php(installation, fpm) if fpm else "",
            _tls(installation, directory) if tls else "",
            _status(installation) if status else "",
            extra,
        ]
        configuration = directory / "httpd.conf"
        configuration.write_text("\n".join(parts))
        program = self._servers.enter_context(
            Program(
                [installation.binary, "-d", str(directory), "-f", str(configuration), "-DFOREGROUND"],
                log=directory / "output.log",
                environment={"PHP_INI_SCAN_DIR": str(directory / "php")},
                launcher=launcher,
            )
        )
        server = Apache(program, directory, port, "https" if tls else "http", mpm, workers, certificate, fpm)
        least = workers if mpm == "prefork" and not launcher else 0
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        program.wait_until(lambda: _serves(server) and len(children.read_text().split()) >= least, server.error_log)
        return server


def proxying(url: str) -> str:
    """What Apache's configuration has for passing all requests on to a URL but those of its status page."""
    modules = _installation().load("proxy", "proxy_http")
    return f"{modules}\nProxyPass /server-status !\nProxyPass / {url}\n"


def _serves(server: Apache) -> bool:
    if not answers(server.port):
        return False
    context = ssl.create_default_context(cafile=server.certificate) if server.certificate else None
    connection = (
        http.client.HTTPSConnection("127.0.0.1", server.port, timeout=5, context=context)
        if context
        else http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    )
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/server-status?auto", headers={"Connection": "close"})
        return connection.getresponse().status < 500
    return False


def _installation() -> ApacheInstallation:
    installation = find_apache()
    if installation is None:
        pytest.fail(
            f"this test needs apache2 or httpd and its modules, which are not installed: {INSTALL}", pytrace=False
        )
    return installation


def _base(directory: Path, installation: ApacheInstallation, port: int) -> str:
    user = service_user()
    owner = f"User {user.pw_name}\nGroup #{user.pw_gid}\n" if user else ""
    (directory / "php").mkdir()
    return f"""
DefaultRuntimeDir {directory}
PidFile {directory}/httpd.pid
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
{installation.load(*MODULES)}
{owner}ErrorLog {directory}/error.log
LogLevel warn
TypesConfig /dev/null
AddType text/html .html
AddType text/css .css
LogFormat "{LOG_FORMAT}" test
CustomLog {directory}/access.log test
DocumentRoot {directory}/pages
DirectoryIndex index.html index.php
<Directory />
    Require all denied
</Directory>
<Directory {directory}/pages>
    Require all granted
</Directory>
GracefulShutdownTimeout 2
Timeout 60
"""


def _mpm(installation: ApacheInstallation, mpm: Mpm, workers: int) -> str:
    load = installation.load(f"mpm_{mpm}")
    if mpm == "prefork":
        return f"""{load}
ServerLimit {workers}
MaxRequestWorkers {workers}
StartServers {workers}
MinSpareServers 1
MaxSpareServers {workers + 1}
MaxConnectionsPerChild 0
"""
    threads = max(count for count in range(1, 65) if workers % count == 0)
    return f"""{load}
ServerLimit {workers // threads}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {workers}
StartServers {workers // threads}
MinSpareThreads 1
MaxSpareThreads {workers + threads}
MaxConnectionsPerChild 0
"""


def _status(installation: ApacheInstallation) -> str:
    return f"""{installation.load("status")}
ExtendedStatus On
<Location /server-status>
    SetHandler server-status
    Require local
</Location>
"""


def _cgi(installation: ApacheInstallation, mpm: Mpm, directory: Path) -> str:
    load = (
        installation.load("cgi")
        if mpm == "prefork"
        else f"{installation.load('cgid')}\nScriptSock {directory}/cgid.sock"
    )
    return f"{load}\n<Directory {directory}/pages>\n    Options +ExecCGI\n</Directory>\nAddHandler cgi-script .cgi\n"


def _mod_php(installation: ApacheInstallation, directory: Path, extensions: Sequence[str]) -> str:
    (directory / "php" / "php.ini").write_text("".join(f"extension={name}\n" for name in extensions))
    found = sorted(installation.modules.glob("libphp*.so"))
    if not found:
        pytest.fail(f"this test needs mod_php, which is not in {installation.modules}: {INSTALL_PHP}", pytrace=False)
    return f"""LoadModule php_module {found[-1]}
PHPIniDir {directory}/php
<FilesMatch "\\.php$">
    SetHandler application/x-httpd-php
</FilesMatch>
"""


def _proxied_php(installation: ApacheInstallation, fpm: Fpm) -> str:
    handler = f"proxy:unix:{fpm.socket}|fcgi://localhost" if fpm.socket else f"proxy:fcgi://127.0.0.1:{fpm.port}"
    return f"""{installation.load("proxy", "proxy_fcgi")}
<FilesMatch "\\.php$">
    SetHandler "{handler}"
</FilesMatch>
<Location {fpm.status_path}>
    SetHandler "{handler}"
    Require local
</Location>
"""


def _tls(installation: ApacheInstallation, directory: Path) -> str:
    return f"""{installation.load("socache_shmcb", "ssl")}
SSLEngine on
SSLSessionCache shmcb:{directory}/tls_cache(512000)
SSLCertificateFile {directory}/server.crt
SSLCertificateKeyFile {directory}/server.key
"""


def _certify(directory: Path) -> Path:
    openssl = find_program("openssl", install="apt-get install openssl")
    certificate = directory / "server.crt"
    done = subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
         "-keyout", str(directory / "server.key"), "-out", str(certificate)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        pytest.fail(f"openssl cannot make a certificate: {done.stderr}", pytrace=False)
    return certificate


def _write_pages(documents: Path, pages: Mapping[str, str | bytes]) -> None:
    for name, content in pages.items():
        page = documents / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(content if isinstance(content, bytes) else content.encode())
        page.chmod(0o755 if name.endswith(".cgi") else 0o644)
