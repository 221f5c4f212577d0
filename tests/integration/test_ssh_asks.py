"""What ssh asks for is asked on the terminal before anything else is shown; without a terminal nothing is asked."""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.loads.program import LOADTOP
from tests.servers.program import find_program
from tests.servers.sshd import Sshd, SshdFactory, put_ssh

SECRET = "correct horse"
NEEDS_ROOT = "this test gives sshd an /etc/shadow of its own: it needs root on Linux"


class Window:
    """A terminal in which ``loadtop watch`` is run on one remote host."""

    def __init__(self, server: Sshd, directory: Path, *words: str) -> None:
        self.seen = ""
        self._fd, inside = pty.openpty()
        termios.tcsetwinsize(inside, (24, 80))
        program = "import fcntl, runpy, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); runpy.run_module('loadtop')"
        self.program = subprocess.Popen(
            [sys.executable, "-c", program, "watch", "--no-record", "--host", "w=ssh://web1", *words],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            env={**put_ssh(directory, server.config), "TERM": "xterm-256color", "SSH_ASKPASS": ""},
        )
        os.close(inside)

    def wait_for(self, text: str, limit_s: float = 60.0) -> None:
        deadline = time.monotonic() + limit_s
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen[-2000:]
            self._read()

    def wait_for_end(self, limit_s: float = 60.0) -> int:
        deadline = time.monotonic() + limit_s
        while self.program.poll() is None:
            assert time.monotonic() < deadline, self.seen[-2000:]
            self._read()
        self._read()
        return self.program.returncode

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def foreground(self) -> int:
        """The process group that the keys go to."""
        return int.from_bytes(fcntl.ioctl(self._fd, termios.TIOCGPGRP, b"\0" * 4), sys.byteorder)

    def wait_until_ssh_reads(self, limit_s: float = 60.0) -> None:
        """After the prompt. A signal between its prompt and its read ends no ssh: it reads on."""
        deadline = time.monotonic() + limit_s
        while Path(f"/proc/{self.foreground()}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline
            self._read()

    def close(self) -> None:
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()
        os.close(self._fd)

    def _read(self) -> None:
        if select.select([self._fd], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self._fd, 65536).decode("utf-8", "replace")
            except OSError:  # the other side is closed
                time.sleep(0.05)


def with_passphrase(server: Sshd) -> Sshd:
    keygen = find_program("ssh-keygen", install="openssh-client")
    subprocess.run([keygen, "-q", "-p", "-P", "", "-N", SECRET, "-f", str(server.key)], check=True, capture_output=True)
    return server


def with_password(sshd: SshdFactory, directory: Path, method: str) -> Sshd:
    """An sshd that lets the user in with a password only, kept in a shadow file that no one else sees."""
    if os.geteuid() != 0:
        pytest.fail(NEEDS_ROOT, pytrace=False)
    openssl = find_program("openssl", install="openssl")
    coded = subprocess.run([openssl, "passwd", "-6", SECRET], capture_output=True, text=True, check=True).stdout.strip()
    lines = Path("/etc/shadow").read_text().splitlines()
    shadow = directory / "shadow"
    shadow.write_text(
        "".join(f"root:{coded}:19000:0:99999:7:::\n" if line.startswith("root:") else f"{line}\n" for line in lines)
    )
    shadow.chmod(0o600)
    uses_pam = "yes" if method == "keyboard-interactive" else "no"
    extra = f"UsePAM {uses_pam}\nPermitRootLogin yes\nAuthenticationMethods {method}\n"
    extra += "PasswordAuthentication yes\nKbdInteractiveAuthentication yes\n"
    mount = f'mount --bind {shadow} /etc/shadow && exec "$@"'
    return sshd(extra=extra, launcher=(find_program("unshare", install="util-linux"), "-m", "sh", "-c", mount, "sshd"))


def test_ssh_asks_for_a_passphrase_before_the_cockpit_starts(sshd: SshdFactory, tmp_path: Path) -> None:
    window = Window(with_passphrase(sshd()), tmp_path)
    try:
        window.wait_for("Enter passphrase for key")
        assert "\x1b[?1049h" not in window.seen
        assert window.foreground() != window.program.pid
        window.type(f"{SECRET}\n")
        window.wait_for("\x1b[?1049h")
        assert SECRET not in window.seen
        assert window.foreground() == window.program.pid
        window.wait_for("quit")
        window.type("qq")
        assert window.wait_for_end() == 0, window.seen[-2000:]
    finally:
        window.close()


@pytest.mark.lab
@pytest.mark.parametrize("method", ["password", "keyboard-interactive"])
def test_a_password_is_asked_and_may_be_wrong_once(sshd: SshdFactory, tmp_path: Path, method: str) -> None:
    window = Window(with_password(sshd, tmp_path, method), tmp_path, "--headless", "-t", "2")
    try:
        for answer in ("wrong", SECRET):
            window.wait_for("assword:")
            window.seen = ""
            window.type(f"{answer}\n")
        assert window.wait_for_end() == 0, window.seen[-2000:]
        assert "w " in window.seen
        assert SECRET not in window.seen
    finally:
        window.close()


def test_no_response_means_no_access(sshd: SshdFactory, tmp_path: Path) -> None:
    window = Window(with_passphrase(sshd()), tmp_path, "--headless", "-t", "2")
    try:
        window.wait_for("Enter passphrase for key")
        window.wait_until_ssh_reads()
        window.type("\x03")
        assert window.wait_for_end() == 3
        assert "--host w: ssh://web1: " in window.seen
    finally:
        window.close()


def test_without_a_terminal_nothing_is_asked(sshd: SshdFactory, tmp_path: Path) -> None:
    server = with_passphrase(sshd())
    done = subprocess.run(
        [*LOADTOP, "watch", "--headless", "--no-record", "--host", "w=ssh://web1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        start_new_session=True,
        env=put_ssh(tmp_path, server.config),
    )
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "ssh-add" in done.stderr
