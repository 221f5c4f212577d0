"""A real sshd on a loopback port with keys of its own, and the client configuration to reach it."""

import contextlib
import getpass
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectors.transport.ssh.transport import SshTransport
from tests.servers.program import Program, Server, answers, find_program, free_port, server_directory

INSTALL = "apt-get install openssh-server openssh-client"


class Sshd(Server, frozen=True):
    """A running sshd for the user of the test. ``config`` is a client configuration with the alias ``alias``."""

    directory: Path
    port: int
    user: str
    alias: str

    @property
    def config(self) -> Path:
        return self.directory / "ssh_config"

    @property
    def key(self) -> Path:
        return self.directory / "client_key"

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"

    @property
    def command(self) -> list[str]:
        """An ssh command line up to and with the host: add what is to run there."""
        return ["ssh", "-F", str(self.config), self.alias]

    def transport(self, *options: str) -> SshTransport:
        """A connection to it that is not made yet, by an ssh with these options."""
        return SshTransport(f"ssh://{self.alias}", ssh=("ssh", *options, "-F", str(self.config)))

    def kill(self) -> None:
        """Ends the listener; its connections, which are in sessions of their own, go on."""
        self.program.kill()


class SshdFactory:
    """Starts sshds and stops them all."""

    def __init__(self, servers: contextlib.ExitStack) -> None:
        self._servers = servers

    def __call__(
        self, *, alias: str = "web1", extra: str = "", launcher: Sequence[str] = (), address: str = "127.0.0.1"
    ) -> Sshd:
        """Start one with ``launcher`` at a free address; ``extra`` precedes its configuration."""
        binary = find_program("sshd", install=INSTALL)
        directory = self._servers.enter_context(server_directory())
        directory.chmod(0o700)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # Debian's sshd separates its privileges there
        port, user = free_port(), getpass.getuser()
        host_key = _make_key(directory / "host_key")
        client_key = _make_key(directory / "client_key")
        (directory / "authorized_keys").write_text(client_key)
        (directory / "known_hosts").write_text(f"[{address}]:{port} {host_key}")
        configuration = directory / "sshd_config"
        configuration.write_text(f"""
{extra}
Port {port}
ListenAddress {address}
HostKey {directory}/host_key
PidFile none
AuthorizedKeysFile {directory}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
""")
        (directory / "ssh_config").write_text(f"""
Host {alias}
    HostName {address}
    Port {port}
    User {user}
    IdentityFile {directory}/client_key
    IdentitiesOnly yes
    UserKnownHostsFile {directory}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode yes
""")
        log = directory / "sshd.log"
        program = self._servers.enter_context(
            Program([*launcher, binary, "-D", "-e", "-f", str(configuration)], log=log)
        )
        program.wait_until(lambda: answers(port, address))
        return Sshd(program, directory, port, user, alias)


def put_ssh(directory: Path, config: Path) -> dict[str, str]:
    """Put an ``ssh`` that reads this configuration into a directory; return the environment in which it is found."""
    program = directory / "ssh"
    program.write_text(f'#!/bin/sh\nexec {find_program("ssh", install=INSTALL)} -F {config} "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def _make_key(file: Path) -> str:
    keygen = find_program("ssh-keygen", install=INSTALL)
    command = [keygen, "-q", "-t", "ed25519", "-N", "", "-C", "loadtop-test", "-f", str(file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"ssh-keygen cannot make a key: {done.stderr}", pytrace=False)
    return file.with_suffix(".pub").read_text()
