"""Servers laid out as on Red Hat, and servers in a container: a mount namespace of their own makes both here."""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from collectors.host import HostCollector
from collectors.linux.machine import LinuxMachine
from collectors.servers import KINDS
from loadtop.cli.demo.apache import find_apache, service_user
from loadtop.model import HostSample
from loadtop.reports.doctor import examine
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.php_fpm.kind import PHP_FPM
from tests.servers.only import OnlyBelow
from tests.servers.program import Program, answers, find_program, free_port, server_directory

NEEDS_ROOT = "this test makes mount namespaces: it needs root on Linux"
STATUS = '<Location "/server-status">\n    SetHandler server-status\n    Require local\n</Location>\n'
KEPT = ("passwd", "group", "hosts", "ld.so.cache", "mime.types")


class RedHat:
    """An ``/etc``, ``/run`` and ``httpd`` as on Red Hat, which only its own processes see."""

    def __init__(self, directory: Path) -> None:
        if os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists():
            pytest.fail(NEEDS_ROOT, pytrace=False)
        self.directory = directory
        self.port, self.fpm_port = free_port(), free_port()
        self._write_etc(directory / "etc")
        for name in ("run/httpd", "run/php-fpm", "bin", "log"):
            (directory / name).mkdir(parents=True)
        apache = find_apache()
        assert apache is not None
        fpm = find_program("php-fpm8.2", "php-fpm8.4", "php-fpm", install="apt-get install php-fpm")
        for source, name in ((apache.binary, "httpd"), (fpm, "php-fpm")):
            shutil.copy(source, directory / "bin" / name)

    def launcher(self, *namespaces: str) -> list[str]:
        mounts = f"mount --bind {self.directory}/etc /etc && mount --bind {self.directory}/run /run"
        shell = ["sh", "-c", f'{mounts} && {{ ip link set lo up 2>/dev/null; exec "$@"; }}', "enter"]
        return [find_program("unshare", install="apt-get install util-linux"), "-m", *namespaces, *shell]

    def httpd(self, *namespaces: str) -> Program:
        """Debian's binary reads another first file than Red Hat's; it is gone when the server runs."""
        command = [f"{self.directory}/bin/httpd", "-DFOREGROUND"]
        return Program(command, log=self.directory / "log/httpd", launcher=self.launcher(*namespaces))

    def php_fpm(self, *namespaces: str) -> Program:
        command = [f"{self.directory}/bin/php-fpm", "--nodaemonize", "--fpm-config", "/etc/php-fpm.conf"]
        return Program(command, log=self.directory / "log/php-fpm", launcher=self.launcher(*namespaces))

    def haproxy(self, *namespaces: str) -> Program:
        binary = find_program("haproxy", install="apt-get install haproxy")
        command = [binary, "-db", "-f", "/etc/haproxy/haproxy.cfg"]
        return Program(command, log=self.directory / "log/haproxy", launcher=self.launcher(*namespaces))

    def forget_debian(self) -> None:
        shutil.rmtree(self.directory / "etc/apache2")

    def _write_etc(self, etc: Path) -> None:
        apache, user = find_apache(), service_user()
        assert apache is not None
        assert user is not None
        owner = f"User {user.pw_name}\nGroup #{user.pw_gid}\n"
        texts = {
            "apache2/apache2.conf": "Include /etc/httpd/conf/httpd.conf\n",
            "httpd/conf/httpd.conf": f'ServerRoot "/etc/httpd"\nListen 127.0.0.1:{self.port}\n'
            f"Include conf.modules.d/*.conf\n{owner}ServerName localhost\n"
            f"ErrorLog {self.directory}/log/error_log\nPidFile run/httpd.pid\n"
            f"DefaultRuntimeDir run\nTypesConfig /dev/null\n{STATUS}IncludeOptional conf.d/*.conf\n",
            "httpd/conf.modules.d/00-base.conf": apache.load("unixd", "authz_core", "authz_host", "status", "mime"),
            "httpd/conf.modules.d/00-mpm.conf": apache.load("mpm_event"),
            "httpd/conf.d/mpm.conf": "<IfModule mpm_event_module>\nServerLimit 2\nThreadsPerChild 3\n"
            "MaxRequestWorkers 6\nListenBacklog 77\n</IfModule>\n<IfModule mpm_prefork_module>\n"
            "MaxRequestWorkers 99\n</IfModule>\n",
            "php-fpm.conf": "include=/etc/php-fpm.d/*.conf\n[global]\npid = /run/php-fpm/php-fpm.pid\n"
            f"error_log = {self.directory}/log/fpm\n",
            "php-fpm.d/www.conf": f"[www]\nuser = {user.pw_name}\ngroup = {user.pw_gid}\n"
            f"listen = 127.0.0.1:{self.fpm_port}\npm = static\npm.max_children = 3\npm.status_path = /status\n",
            "haproxy/haproxy.cfg": f"defaults\n    mode http\n    timeout connect 5s\n    timeout client 5s\n"
            f"    timeout server 5s\nlisten stats\n    bind 127.0.0.1:{self.port}\n    stats enable\n",
        }
        for name, text in texts.items():
            path = etc / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (etc / "httpd/run").symlink_to("/run/httpd")
        for name in KEPT:
            if Path("/etc", name).exists():
                shutil.copy(f"/etc/{name}", etc / name)


async def settled(pid: int, holds: Callable[[HostSample], bool]) -> HostSample:
    """A sample of the processes below one, found without any option, of which something holds."""
    host = HostCollector("web1", "target", LinuxMachine(OnlyBelow(pid), KINDS))
    await host.start(0.2)
    try:
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            if (sample := host.latest()[0]) is not None and holds(sample):
                return sample
            await asyncio.sleep(0.05)
        raise AssertionError(f"never held: {host.latest()}")
    finally:
        await host.close()


@pytest.mark.lab
@pytest.mark.servers
async def test_the_layout_of_red_hat_is_found_without_options() -> None:
    with server_directory() as directory, contextlib.ExitStack() as servers:
        place = RedHat(directory)
        httpd, fpm = servers.enter_context(place.httpd()), servers.enter_context(place.php_fpm())
        httpd.wait_until(lambda: answers(place.port), directory / "log/error_log")
        fpm.wait_until(lambda: answers(place.fpm_port), directory / "log/fpm")
        place.forget_debian()
        sample = await settled(
            httpd.pid, lambda s: any(found.max_request_workers is not None for found in APACHE.readings(s))
        )
        (status,) = APACHE.readings(sample)
        assert status.url == f"http://127.0.0.1:{place.port}/server-status?auto"
        assert (status.mpm, status.max_request_workers, status.server_limit) == ("event", 6, 2)
        assert (status.threads_per_child, status.listen_backlog) == (3, 77)
        assert {row.name for row in sample.processes or () if row.group == "httpd"} == {"httpd"}
        (pool,) = PHP_FPM.readings(
            await settled(fpm.pid, lambda s: any(found.active is not None for found in PHP_FPM.readings(s)))
        )
        assert (pool.pool, pool.max_children, pool.active, pool.total) == ("www", 3, 1, 3)


CONTAINER = ("--net", "--pid", "--fork", "--kill-child")


@pytest.mark.lab
@pytest.mark.servers
@pytest.mark.parametrize(
    ("kind", "group", "option", "processes"),
    [
        ("apache", "httpd", "--apache URL", 3),
        ("fpm", "php-fpm", "--fpm URL", 4),
        ("haproxy", "haproxy", "--haproxy URL", 1),
    ],
)
async def test_a_server_in_a_container_is_reported_as_that(kind: str, group: str, option: str, processes: int) -> None:
    """Its configuration would be another's, and its port on this machine another server's: neither is shown."""
    with server_directory() as directory, contextlib.ExitStack() as servers:
        place = RedHat(directory)
        start = {"apache": place.httpd, "fpm": place.php_fpm, "haproxy": place.haproxy}[kind]
        program = servers.enter_context(start(*CONTAINER))
        children = psutil.Process(program.pid).children
        program.wait_until(lambda: len(children(recursive=True)) >= processes)
        sample = await settled(
            program.pid, lambda s: "container" in next(str(o.reason) for o in s.outcomes if o.collector == kind)
        )
        alive = len(children(recursive=True))
        program.kill()  # what forked a process namespace does not heed a gentle end
        assert not sample.servers
        assert sum(row.group == group for row in sample.processes or ()) == alive >= processes
        check = next(check for check in examine(sample) if check.panel == kind.replace("fpm", "php-fpm"))
        assert str(check.health) == "missing"
        assert "runs in a container with its own network" in str(check.missing)
        assert option in str(check.missing)
