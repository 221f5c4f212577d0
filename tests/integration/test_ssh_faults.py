"""What goes wrong on a line to a remote host, with a real sshd and with programs that only pretend to be ssh."""

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from collectors.errors import TransportError
from collectors.host import HostCollector, remote_machine
from collectors.machine import Request, Wanted
from collectors.transport.shell.guard import SocketDirectory
from collectors.transport.ssh.transport import SshTransport
from tests.loads.program import wait_until
from tests.loads.running import until
from tests.servers.program import Program, find_program, free_port
from tests.servers.sshd import Sshd, SshdFactory

REQUEST = Request((Wanted("/proc/loadavg"), Wanted("/proc/stat")), processes=True)
Pretend = Callable[[str], SshTransport]


def below(pid: int) -> list[tuple[int, str]]:
    """The processes below this one, with their names, nearest first."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    found = {pid}
    order: list[tuple[int, str]] = []
    for _ in range(6):
        more = [(int(row[0]), row[2]) for row in rows if int(row[1]) in found and int(row[0]) not in found]
        order += more
        found |= {each for each, _ in more}
    return order


async def read_until(transport: SshTransport, outcome: str) -> float:
    """Read until it works (outcome ``""``) or fails with these words; the time of the reading on that machine."""
    async with asyncio.timeout(30):
        while True:
            try:
                at, problem = (await transport.read(REQUEST)).at, ""
            except TransportError as error:
                at, problem = 0.0, str(error)
            if problem == outcome or (outcome and outcome in problem):
                return at
            await asyncio.sleep(0.05)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.transport.shell.transport.PAUSES_S", (0.1, 0.2))


@pytest.fixture
def pretend(tmp_path: Path) -> Pretend:
    """``pretend(script)``: a transport whose ssh is this shell script."""

    def build(script: str) -> SshTransport:
        program = tmp_path / "ssh"
        program.write_text(f'#!/bin/bash\ncase "$*" in *-G*) exit 0 ;; esac\n{script}\n')
        program.chmod(stat.S_IRWXU)
        return SshTransport("ssh://web1", ssh=(str(program),))

    return build


@pytest.mark.usefixtures("short_pauses")
async def test_sshd_killed_and_back(sshd: SshdFactory, servers: object) -> None:
    server = sshd()
    transport = server.transport()
    await transport.connect()
    before = (await transport.read(REQUEST)).at
    connections = [pid for pid, name in below(server.pid) if name == "sshd"]
    server.kill()
    for pid in connections:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(TransportError, match=r"no connection since \d\d:\d\d:\d\d: .*; retry in \d s"):
        await transport.read(REQUEST)
    await read_until(transport, "nothing is listening on its SSH port")
    command = cast("list[str]", server.program.process.args)
    with Program(command, log=server.program.log):
        assert await read_until(transport, "") > before
    await transport.close()
    assert servers is not None


def reading_with(sshd: SshdFactory, directory: Path, program: str) -> Sshd:
    """A host whose samples awk reads, if ``program`` is a part of that: a perl there does not work."""
    if program in ("awk", "sh", "loop"):
        (directory / "perl").symlink_to("/bin/false")
    return sshd(extra=f'ForceCommand PATH={directory}:$PATH; eval "$SSH_ORIGINAL_COMMAND"')


@pytest.mark.parametrize("name", ["sh", "perl", "awk"])
async def test_a_frozen_machine_delays_its_samples_and_bends_none(sshd: SshdFactory, tmp_path: Path, name: str) -> None:
    """Seconds in which the far shell, or what it feeds, stands still: nothing is shown as measured meanwhile, and
    afterwards it continues by itself, over the same connection."""
    server = reading_with(sshd, tmp_path, name)
    async with watched(server) as host:
        stopped = [pid for pid, comm in await asyncio.to_thread(below, server.pid) if comm == name]
        assert stopped
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            await until(lambda: re.fullmatch(r"no sample for ([3-9]|\d\d) s", str(host.latest()[1])) is not None)
            before, _ = host.latest()
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert before is not None
        stopped_at = before.at
        # The first answer may be of a reading that had been taken when it was stopped, and has that time.
        await until(lambda: (sample := host.latest()[0]) is not None and sample.at > stopped_at + 2.0)
        assert not host.latest()[1]
        there = [pid for pid, comm in await asyncio.to_thread(below, server.pid) if comm == name]
    # A shell may start another for a command; the one that was first must still be there.
    assert stopped[0] in there


@asynccontextmanager
async def watched(server: Sshd) -> AsyncGenerator[HostCollector]:
    """It is sampled five times a second, and has been once."""
    transport = server.transport()
    await transport.connect()
    host = HostCollector("web1", "target", remote_machine(transport), find_servers=False)
    await host.start(0.2)
    try:
        await until(lambda: host.latest()[0] is not None)
        yield host
    finally:
        await host.close()


@pytest.mark.parametrize("name", ["perl", "awk", "loop"])
async def test_one_that_is_killed_there_costs_a_reconnection(sshd: SshdFactory, tmp_path: Path, name: str) -> None:
    """Also where it had taken an order that it did not pass on: it is frozen before, until one waits for its answer."""
    server = reading_with(sshd, tmp_path, name)
    async with watched(server) as host:
        # Of awk's three shells the first one waits, the second is the loop, and the third waits for awk.
        wanted = "sh" if name == "loop" else name
        victim = [pid for pid, comm in below(server.pid) if comm == wanted][1 if name == "loop" else 0]
        os.kill(victim, signal.SIGSTOP)
        await until(lambda: str(host.latest()[1]).startswith("no sample for"))
        before, _ = host.latest()
        os.kill(victim, signal.SIGKILL)
        # Found out at once, not after 30 s of silence.
        await until(lambda: str(host.latest()[1]).startswith("no connection since"))
        await until(lambda: not host.latest()[1])
        after, _ = host.latest()
    assert before is not None
    assert after is not None
    assert 0.0 < after.at - before.at < 30.0


async def test_an_end_that_is_cut_short_ends_ssh_all_the_same(pretend: Pretend) -> None:
    """As where loadtop ends while it gives up a machine that prints without end."""

    def printing() -> list[int]:
        return [pid for pid, comm in below(os.getpid()) if comm == "yes"]

    transport = pretend('sh -c "${@: -1}"; exec yes')
    await transport.connect()
    closing = asyncio.create_task(transport.close())
    await until(lambda: bool(printing()))
    for task in asyncio.all_tasks() - {asyncio.current_task()}:  # what asyncio.run() does at the end
        task.cancel()
    await asyncio.wait({closing})
    await until(lambda: not printing())


async def test_a_banner_and_a_noisy_shell(sshd: SshdFactory) -> None:
    noise = 'printf "\\033[2J Welcome to web1\\n"; echo and more >&2; eval "$SSH_ORIGINAL_COMMAND"'
    server = sshd(extra=f"ForceCommand {noise}")
    (server.directory / "banner").write_text("Authorized users only\n")
    transport = server.transport()
    await transport.connect()
    assert os.getpid() in (await transport.read(REQUEST)).pids
    await transport.close()


class TestNoWayIn:
    async def refused(self, transport: SshTransport) -> str:
        with pytest.raises(TransportError) as error:
            await transport.connect()
        await transport.close()
        line = str(error.value)
        assert line.startswith("ssh://web1: ")
        assert line.isprintable()
        return line

    async def test_an_unknown_host_key(self, sshd: SshdFactory) -> None:
        server = sshd()
        server.known_hosts.write_text("")
        assert "accept it once with ssh web1" in await self.refused(server.transport())

    async def test_a_changed_host_key(self, sshd: SshdFactory) -> None:
        server, other = sshd(), sshd()
        key = (other.directory / "host_key.pub").read_text()
        server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {key}")
        line = await self.refused(server.transport())
        assert "its host key has changed" in line
        assert re.search(rf"ssh-keygen .*\[127.0.0.1\]:{server.port}.* and then ssh web1", line)

    async def test_a_wrong_key(self, sshd: SshdFactory) -> None:
        server = sshd()
        (server.directory / "authorized_keys").write_text("")
        assert "ssh-add" in await self.refused(server.transport())

    async def test_a_missing_user(self, sshd: SshdFactory) -> None:
        assert "the user does not exist" in await self.refused(sshd().transport("-o", "User=nobody-here"))

    async def test_a_refused_port(self, sshd: SshdFactory) -> None:
        line = await self.refused(sshd().transport("-o", f"Port={free_port()}"))
        assert "nothing is listening on its SSH port" in line

    async def test_an_unknown_host(self, sshd: SshdFactory) -> None:
        line = await self.refused(sshd().transport("-o", "HostName=no-such-host.invalid"))
        assert "unknown host name" in line

    async def test_no_client(self) -> None:
        assert "OpenSSH's client is not installed" in await self.refused(SshTransport("ssh://web1", ssh=("/none/ssh",)))

    async def test_an_account_without_a_shell(self, sshd: SshdFactory) -> None:
        line = await self.refused(sshd(extra="ForceCommand echo This account is not available; exit 1").transport())
        assert "status 1 (This account is not available)" in line


class TestGarbage:
    async def problem(self, transport: SshTransport) -> str:
        began = time.monotonic()
        with pytest.raises(TransportError) as error:
            await transport.connect()
        await transport.close()
        assert time.monotonic() - began < 60.0
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 400
        return str(error.value)

    async def test_silence(self, pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("collectors.transport.shell.transport.CONNECT_S", 1.0)
        assert "no response for 1 s" in await self.problem(pretend("exec sleep 60"))

    async def test_a_line_without_end(self, pretend: Pretend) -> None:
        assert "without a complete sample" in await self.problem(pretend("exec tr '\\0' x </dev/zero"))

    async def test_a_line_without_end_of_messages(self, pretend: Pretend) -> None:
        assert "its command keeps printing" in await self.problem(pretend("exec tr '\\0' x </dev/zero 3>&1 >&2"))

    async def test_messages_without_end(self, pretend: Pretend) -> None:
        assert "its command keeps printing" in await self.problem(pretend("exec yes 3>&1 >&2"))

    async def test_escape_sequences(self, pretend: Pretend) -> None:
        assert "status 7" in await self.problem(pretend("printf '\\033]0;title\\a\\033[2J'; exit 7"))

    async def test_it_ends_while_it_is_asked(self, pretend: Pretend) -> None:
        assert "closed" in await self.problem(pretend("exit 255"))

    async def test_a_frame_that_is_cut_off(self, pretend: Pretend) -> None:
        """The far side is the real loop, until it has printed the first line of /proc/stat."""
        transport = pretend('sh -c "${@: -1}" | { sed -u "/^cpu /q"; kill -KILL $$; }')
        await transport.connect()
        with pytest.raises(TransportError, match="in the middle of a sample"):
            await transport.read(REQUEST)
        await transport.close()

    async def test_another_shells_words(self, pretend: Pretend) -> None:
        """What stands where a frame should be is in the message."""
        transport = pretend('sh -c "${@: -1}" | sed -u "s:^#.*f /proc/uptime:sh\\: oops:"; exit 255')
        await transport.connect()
        with pytest.raises(TransportError, match=r"cannot parse its response: .*sh: oops"):
            await transport.read(REQUEST)
        await transport.close()

    async def test_no_awk_there(self, pretend: Pretend) -> None:
        line = await self.problem(pretend('exec sh -c "${@: -1}" < <(sed -u "s/-v awk /-v xwk /")'))
        assert "awk is missing" in line


async def test_pauses_grow(pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = pretend("exit 255")
    now = [1000.0]
    monkeypatch.setattr("collectors.transport.shell.transport.time.monotonic", lambda: now[0])
    waits: list[str] = []
    for pause in (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0):
        now[0] += pause
        with pytest.raises(TransportError) as error:
            await transport.read(REQUEST)
        waits.append(str(error.value).rpartition("retry in ")[2])
    await transport.close()
    assert waits == ["1 s", "2 s", "4 s", "8 s", "16 s", "30 s", "30 s"]


async def test_a_connection_of_the_users_own_is_used(sshd: SshdFactory, tmp_path: Path) -> None:
    server = sshd()
    control = tmp_path / "own"
    with server.config.open("a") as config:
        config.write(f"    ControlPath {control}\n")
    ssh = find_program("ssh", install="apt-get install openssh-client")
    master = await asyncio.create_subprocess_exec(ssh, "-F", str(server.config), "-M", "-N", "web1")
    try:
        await until(control.exists)
        transport = server.transport()
        await transport.connect()
        assert os.getpid() in (await transport.read(REQUEST)).pids
        # One connection, of the master; a second one would show as a second child of the listener.
        assert sum(name == "sshd" for _, name in below(server.pid)) == 1
        await transport.close()
    finally:
        master.terminate()
        await master.wait()


KILLED = """
import os, signal
from collectors.transport.shell.guard import SocketDirectory
sockets = SocketDirectory()
(sockets.path / "page0").touch()
print(sockets.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_sockets_do_not_outlive_the_program_however_it_ends() -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -signal.SIGKILL
    left = Path(killed.stdout.strip())
    assert left.name.startswith("loadtop-")
    assert wait_until(lambda: not left.exists())


def test_sockets_are_removed_with_the_process_that_guards_them() -> None:
    before = {pid for pid, _ in below(os.getpid())}
    first, second = SocketDirectory(), SocketDirectory()
    (first.path / "page0").touch()
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o700
    (guard,) = {pid for pid, name in below(os.getpid()) if name != "ps"} - before
    first.remove()
    assert not first.path.exists()
    assert guard in [pid for pid, _ in below(os.getpid())], "it guards the other one"
    second.remove()
    assert guard not in [pid for pid, _ in below(os.getpid())]
    second.remove()
