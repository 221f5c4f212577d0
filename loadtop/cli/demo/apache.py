"""An Apache with a private configuration, for any user and any layout: Debian, Red Hat, Homebrew, macOS."""

import os
import pwd
import shutil
from pathlib import Path

from msgspec import Struct

from loadtop.cli.demo.pages import INDEX, PAGES

BINARIES = ("apache2", "httpd")
SEARCH_PATH = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/bin"]
)
MODULE_DIRECTORIES = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
    "/usr/local/libexec/apache24",
    "/opt/homebrew/opt/httpd/lib/httpd/modules",
    "/usr/local/opt/httpd/lib/httpd/modules",
)
SERVICE_USERS = ("www-data", "apache", "_www", "www", "http", "nobody")
BASE_MODULES = ("unixd", "authz_core", "authz_host", "dir", "mime", "status")


class ApacheInstallation(Struct, frozen=True):
    binary: str
    modules: Path

    def has(self, module: str) -> bool:
        return (self.modules / f"mod_{module}.so").exists()

    def load(self, *names: str) -> str:
        """Configuration that loads these modules unless they are built in, which differs between distributions."""
        return "\n".join(
            f"<IfModule !{name}_module>\nLoadModule {name}_module {self.modules}/mod_{name}.so\n</IfModule>"
            for name in names
            if self.has(name)
        )


def find_apache() -> ApacheInstallation | None:
    """The installed Apache, or None if there is none with loadable modules."""
    binary = next((found for name in BINARIES if (found := shutil.which(name, path=SEARCH_PATH))), None)
    modules = next((Path(name) for name in MODULE_DIRECTORIES if Path(name, "mod_status.so").exists()), None)
    return ApacheInstallation(binary, modules) if binary and modules else None


def service_user() -> pwd.struct_passwd | None:
    """The unprivileged user of a server that root starts; None for other users."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((known[name] for name in SERVICE_USERS if name in known), None)


class DemoApache(Struct, frozen=True):
    """Apache as the demo needs it: prefork with CGI, or a threaded MPM if there is no prefork."""

    installation: ApacheInstallation
    directory: Path
    port: int
    workers: int

    @property
    def mpm(self) -> str:
        return next(
            (name for name in ("prefork", "event", "worker") if self.installation.has(f"mpm_{name}")), "built in"
        )

    def command(self) -> list[str]:
        """Write pages and configuration to the directory; returns the command of the server in the foreground."""
        documents = self.directory / "pages"
        documents.mkdir(mode=0o755, exist_ok=True)
        (documents / "index.html").write_text(INDEX)
        for page in PAGES:
            script = documents / page.name
            script.write_text(page.script)
            script.chmod(0o755)
        configuration = self.directory / "httpd.conf"
        configuration.write_text(self._configuration())
        return [self.installation.binary, "-d", str(self.directory), "-f", str(configuration), "-DFOREGROUND"]

    def _configuration(self) -> str:
        here, installation = self.directory, self.installation
        user = service_user()
        owner = f"User {user.pw_name}\nGroup #{user.pw_gid}" if user else ""
        threads = max(count for count in range(1, 65) if self.workers % count == 0)
        return f"""\
{installation.load(f"mpm_{self.mpm}", "cgi" if self.mpm == "prefork" else "cgid")}
{installation.load(*BASE_MODULES)}
{owner}
DefaultRuntimeDir {here}
PidFile {here}/httpd.pid
Mutex file:{here} default
Listen 127.0.0.1:{self.port}
ServerName 127.0.0.1
ErrorLog {here}/error.log
TypesConfig /dev/null
AddType text/html .html
Timeout 20
KeepAliveTimeout 2
MaxRequestWorkers {self.workers}
<IfModule mpm_prefork_module>
    ServerLimit {self.workers}
    StartServers {self.workers}
    MinSpareServers 1
    MaxSpareServers {self.workers + 1}
</IfModule>
<IfModule !mpm_prefork_module>
    ServerLimit {self.workers // threads}
    ThreadLimit {threads}
    ThreadsPerChild {threads}
    StartServers {self.workers // threads}
    MinSpareThreads 1
    MaxSpareThreads {self.workers + threads}
    ScriptSock {here}/cgid.sock
</IfModule>
DocumentRoot {here}/pages
DirectoryIndex index.html
<Directory />
    Require all denied
</Directory>
<Directory {here}/pages>
    Require local
    Options +ExecCGI
</Directory>
<FilesMatch "^({"|".join(page.name for page in PAGES)})$">
    SetHandler cgi-script
</FilesMatch>
ExtendedStatus On
<Location /server-status>
    SetHandler server-status
    Require local
</Location>
"""
