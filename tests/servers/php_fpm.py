"""A real php-fpm with one private pool."""

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from loadtop.cli.demo.apache import SEARCH_PATH, service_user
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install php-fpm (Red Hat: dnf install php-fpm)"
Manager = Literal["static", "dynamic", "ondemand"]


class Fpm(Server, frozen=True):
    """A running php-fpm. It listens on ``port`` or on the unix ``socket``."""

    directory: Path
    pool: str
    max_children: int
    port: int | None
    socket: Path | None
    status_path: str


class FpmFactory:
    """Starts php-fpms and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(
        self,
        *,
        pool: str = "www",
        manager: Manager = "static",
        max_children: int = 4,
        tcp: bool = True,
        extra: str = "",
        launcher: Sequence[str] = (),
    ) -> Fpm:
        """Start one whose pool has at most ``max_children`` workers; ``extra`` is added to the pool's section, and
        ``launcher`` goes before the command."""
        binary = find_program("php-fpm", *_versioned(), install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        port = free_port() if tcp else None
        socket = None if tcp else directory / "fpm.sock"
        user = service_user()
        owner = f"user = {user.pw_name}\nlisten.owner = {user.pw_name}\nlisten.mode = 0660\n" if user else ""
        spare = (
            "pm.start_servers = 1\npm.min_spare_servers = 1\npm.max_spare_servers = 1\n" if manager == "dynamic" else ""
        )
        log = directory / "fpm.log"
        configuration = directory / "fpm.conf"
        configuration.write_text(f"""[global]
error_log = {log}
pid = {directory}/fpm.pid
daemonize = no
[{pool}]
{owner}listen = {f"127.0.0.1:{port}" if port else socket}
pm = {manager}
pm.max_children = {max_children}
{spare}pm.status_path = /fpm-status
catch_workers_output = yes
{extra}
""")
        ini = directory / "php.ini"
        ini.write_text("")
        program = self._servers.enter_context(
            Program(
                [binary, "--nodaemonize", "--fpm-config", str(configuration), "-c", str(ini)],
                log=directory / "output.log",
                environment={"PHP_INI_SCAN_DIR": str(directory)},
                launcher=launcher,
            )
        )
        fpm = Fpm(program, directory, pool, max_children, port, socket, "/fpm-status")
        program.wait_until(lambda: answers(port) if port else bool(socket and socket.exists()), log)
        return fpm


def _versioned() -> list[str]:
    """Debian's names (php-fpm8.2), newest first."""
    found = {file.name for folder in SEARCH_PATH.split(":") for file in Path(folder).glob("php-fpm[0-9]*")}
    return sorted(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
