"""Remote hosts that mean harm, and what is left on them when one of our processes is killed, hangs or is stopped."""

import asyncio
import fcntl
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import Struct

from collectors.config_files import config_file
from collectors.errors import TransportError
from collectors.machine import NOT_REGULAR, Missing, Request, Wanted
from collectors.transport.shell import frames
from collectors.transport.ssh.transport import SshTransport
from tests.loads.program import wait_until
from tests.servers.program import find_program
from tests.servers.sshd import Sshd, SshdFactory

REQUEST = Request((Wanted("/proc/loadavg"),), processes=True)


class Marked(Struct, frozen=True):
    """An sshd that marks everything it starts, so that also what lost its parent is found."""

    sshd: Sshd
    mark: str

    def processes(self) -> dict[int, str]:
        """What runs there now, with command lines; the shell that waits comes first."""
        found: dict[int, str] = {}
        for process in sorted(Path("/proc").iterdir(), key=lambda path: int(path.name) if path.name.isdecimal() else 0):
            with suppress(OSError):
                if process.name.isdecimal() and self.mark.encode() in (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def until(self, count: Callable[[int], bool], within_s: float) -> float:
        """Wait until so many run. Returns the seconds that it took; fails where it takes longer."""
        began = time.monotonic()
        while not count(len(self.processes())):
            if time.monotonic() > began + within_s:
                raise AssertionError(f"after {within_s} s there run {self.processes()}")
            time.sleep(0.05)
        return time.monotonic() - began

    def gone(self, within_s: float) -> float:
        return self.until(lambda count: count == 0, within_s)

    def transport(self) -> SshTransport:
        return SshTransport("ssh://web1", ssh=("ssh", "-F", str(self.sshd.config)))


@pytest.fixture
def marked(sshd: SshdFactory) -> Callable[..., Marked]:
    """``marked(shell)`` starts an sshd; ``shell`` is put before everything that runs there."""

    def start(shell: str = "") -> Marked:
        mark = f"LOADTOP_TEST={secrets.token_hex(8)}"
        command = f'ForceCommand {shell} eval "$SSH_ORIGINAL_COMMAND"\n' if shell else ""
        return Marked(sshd(extra=f"SetEnv {mark}\n{command}"), mark)

    return start


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """``watch(sshd, *words)`` runs ``loadtop watch`` of that machine until the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start(server: Sshd, *words: str) -> "subprocess.Popen[str]":
        real = find_program("ssh", install="apt-get install openssh-client")
        ssh = tmp_path / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {real} -F {server.config} "$@"\n')
        ssh.chmod(0o755)
        command = [sys.executable, "-m", "loadtop", "watch", "--headless", "--no-record", "--host", "w=ssh://web1"]
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        program = subprocess.Popen(
            [*command, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(program)
        return program

    yield start
    for program in started:
        program.send_signal(signal.SIGCONT)
        program.kill()
        program.communicate()


def sampled(program: "subprocess.Popen[str]", lines: int = 2) -> None:
    """Wait until it has printed so many lines, of which each is an interval."""
    assert program.stdout is not None
    for _ in range(lines):
        assert program.stdout.readline()


def children(pid: int) -> dict[int, str]:
    table = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    rows = (line.split(None, 2) for line in table.splitlines())
    return {int(row[0]): row[2] for row in rows if int(row[1]) == pid}


def test_a_stopped_program_leaves_nothing_there_and_continues_later(
    marked: Callable[..., Marked], watch: Callable[..., "subprocess.Popen[str]"]
) -> None:
    far = marked()
    program = watch(far.sshd)
    sampled(program)
    assert far.processes()
    program.send_signal(signal.SIGSTOP)
    far.gone(10.0)  # 2 s, and more on a busy machine; sshd would need 15 s
    program.send_signal(signal.SIGCONT)
    far.until(lambda count: count >= 3, 20.0)
    sampled(program)
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=20)
    far.gone(20.0)


async def test_a_program_that_hangs_leaves_nothing_there(marked: Callable[..., Marked]) -> None:
    far = marked()
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)
    far.gone(10.0)  # nothing else happens in this event loop meanwhile
    with pytest.raises(TransportError, match="no connection since"):
        await transport.read(REQUEST)
    await transport.close()


def test_the_guard_is_replaced_where_it_is_killed(
    marked: Callable[..., Marked], watch: Callable[..., "subprocess.Popen[str]"]
) -> None:
    def guards(program: "subprocess.Popen[str]") -> set[int]:
        return {pid for pid, command in children(program.pid).items() if "guard_process.py" in command}

    far = marked()
    program = watch(far.sshd)
    sampled(program)
    (first,) = guards(program)
    there = far.processes()
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: bool(guards(program) - {first}))
    (second,) = guards(program) - {first}
    sampled(program)
    assert far.processes() == there, "no connection was lost"
    program.send_signal(signal.SIGSTOP)
    far.gone(10.0)
    program.kill()
    program.wait()
    assert wait_until(lambda: not Path(f"/proc/{second}").exists())


@pytest.mark.parametrize(
    ("reader", "whom"),
    [
        *(("perl", whom) for whom in ("loadtop", "ssh", "waiting shell", "perl", "shell of perl")),
        *(("awk", whom) for whom in ("waiting shell", "loop", "shell of awk", "awk")),
    ],
)
def test_nothing_is_left_after_any_of_our_processes_is_killed(
    marked: Callable[..., Marked],
    watch: Callable[..., "subprocess.Popen[str]"],
    tmp_path: Path,
    reader: str,
    whom: str,
) -> None:
    if reader == "awk":
        (tmp_path / "there").mkdir()
        (tmp_path / "there/perl").symlink_to(find_program("false", install="apt-get install coreutils"))
    far = marked(f"PATH={tmp_path}/there:$PATH;" if reader == "awk" else "")
    program = watch(far.sshd)
    sampled(program)
    there = list(far.processes().items())
    shells = [pid for pid, command in there if command.startswith("sh -c eval")]
    victims = {
        "loadtop": [program.pid],
        "ssh": [pid for pid, command in children(program.pid).items() if "/ssh " in command],
        "waiting shell": shells[:1],
        "loop": shells[1:2],
        "shell of awk": shells[2:3],
        "shell of perl": [pid for pid, command in there if command.startswith("sh -c set -f")],
        "perl": [pid for pid, command in there if command.startswith("perl")],
        "awk": [pid for pid, command in there if command.startswith("awk")],
    }[whom]
    assert victims
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    if whom == "loadtop":
        far.gone(20.0)
        return
    old = {pid for pid, _ in there}
    if whom == "shell of perl":  # it goes on without, and starts another when one is needed
        sampled(program)
        assert {pid for pid, command in there if command.startswith("perl")} <= far.processes().keys()
    elif whom != "shell of awk":  # awk answers without it, until the connection ends
        assert wait_until(lambda: not old & far.processes().keys())
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=20)
    far.gone(20.0)


@pytest.mark.parametrize(("shell", "perl"), [("dash", "perl"), ("bash", "false"), ("busybox", "false")])
async def test_nothing_is_left_where_this_machine_goes_silent(
    marked: Callable[..., Marked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, perl: str
) -> None:
    """As by a power cut: the connection stands for hours. As long as there is a heartbeat, samples may be rare."""
    monkeypatch.setattr(frames, "LOOP_SILENCE_S", 3)
    for name, program in (("sh", shell), ("perl", perl)):
        (tmp_path / name).symlink_to(find_program(program, install=f"apt-get install {program}"))
    far = marked(f"PATH={tmp_path}:$PATH;")
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)

    def limiting(command: str) -> bool:
        return command.rstrip().endswith(" 9 true")

    # busybox's timeout watches for up to a second longer than what it watched
    assert await asyncio.to_thread(wait_until, lambda: not any(limiting(each) for each in far.processes().values()))
    there = far.processes().keys()
    with pytest.raises(AssertionError, match=r"after 4.0 s there run"):
        await asyncio.to_thread(far.gone, 4.0)
    assert far.processes().keys() == there
    ssh = [pid for pid, command in children(os.getpid()).items() if command.startswith("ssh ")]
    for pid in ssh:
        os.kill(pid, signal.SIGSTOP)
    await asyncio.to_thread(far.gone, 20.0)
    for pid in ssh:
        os.kill(pid, signal.SIGCONT)
    await transport.close()


async def test_no_secret_is_an_argument_there(marked: Callable[..., Marked]) -> None:
    far = marked()
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)
    commands = far.processes().values()
    assert len(commands) >= 3
    assert [command for command in commands if re.search(r"\b[0-9a-f]{16}\b", command)] == []
    await transport.close()


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("limited", ["perl", "timeout", "no timeout"])
async def test_pipes_and_devices_there_are_not_opened(
    marked: Callable[..., Marked], tmp_path: Path, shell: str, limited: str
) -> None:
    names = ("sh", "head", "tr", "ls") if shell == "busybox" else ("sh",)
    programs, files = tmp_path / "bin", tmp_path / "conf"
    programs.mkdir()
    files.mkdir()
    for name in names:
        (programs / name).symlink_to(find_program(shell, install=f"apt-get install {shell}"))
    if limited != "perl":
        (programs / "perl").symlink_to("/bin/false")
    if limited == "no timeout":
        (programs / "timeout").write_text("#!/bin/sh\nexit 127\n")
        (programs / "timeout").chmod(0o755)
    (files / "regular").write_text("Listen 80\n")
    (files / "empty").touch()
    os.mkfifo(files / "pipe")
    (files / "device").symlink_to("/dev/zero")
    (files / "messages").symlink_to("/proc/kmsg")
    (files / "last").write_text("no end")
    far = marked(f"PATH={programs}:$PATH;")
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)
    there = far.processes().keys()
    order = ("pipe", "regular", "empty", "device", "messages", "none", "last")
    began = time.monotonic()
    reading = await transport.read(Request(tuple(config_file(f"{files}/{name}") for name in order)))
    assert time.monotonic() - began < 10.0
    assert {name: reading.files[f"{files}/{name}"] for name in order} == {
        "pipe": NOT_REGULAR,
        "regular": "Listen 80\n",
        "empty": "",
        "device": NOT_REGULAR,
        "messages": "",
        "none": Missing("no such file"),
        "last": "no end",
    }
    assert (await transport.read(REQUEST)).pids
    await asyncio.to_thread(far.until, lambda count: count <= len(there), 20.0)
    await transport.close()


@pytest.mark.parametrize("limited", ["timeout", "no timeout"])
async def test_what_blocks_there_is_ended(marked: Callable[..., Marked], tmp_path: Path, limited: str) -> None:
    """A regular file on a dead file system, played by a head that does not come back; also where ssh is killed then.
    Perl reads files without a head."""
    (tmp_path / "perl").symlink_to("/bin/false")
    (tmp_path / "head").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "head").chmod(0o755)
    if limited == "no timeout":
        (tmp_path / "timeout").write_text("#!/bin/sh\nexit 127\n")
        (tmp_path / "timeout").chmod(0o755)
    (tmp_path / "regular").write_text("Listen 80\n")
    far = marked(f"PATH={tmp_path}:$PATH;")
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)
    began = time.monotonic()
    found = (await transport.read(Request((wanted := config_file(f"{tmp_path}/regular"),)))).files[wanted.path]
    assert isinstance(found, Missing)
    assert time.monotonic() - began < 30.0
    await transport.close()
    await asyncio.to_thread(far.gone, 20.0)
    transport = far.transport()
    await transport.connect()
    reading = asyncio.create_task(transport.read(Request((wanted,))))
    await asyncio.to_thread(far.until, lambda _: "sleep 600" in " ".join(far.processes().values()), 20.0)
    for pid, command in children(os.getpid()).items():
        if command.startswith("ssh -F"):
            os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(far.gone, 20.0)
    with pytest.raises(TransportError):
        await reading
    await transport.close()


@pytest.fixture
def slow_file(tmp_path: Path) -> Iterator[Path]:
    """A regular file whose opening waits, for as long as this test holds a lease on it: fcntl(2), F_SETLEASE."""
    path = tmp_path / "regular"
    path.write_text("Listen 80\n")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # which says that someone wants to open it
    try:
        with path.open() as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            yield path
    finally:
        signal.signal(signal.SIGIO, before)


async def test_a_file_that_cannot_be_opened_holds_up_perl_for_two_seconds(
    marked: Callable[..., Marked], slow_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("Listen 81\n")
    far = marked()
    transport = far.transport()
    await transport.connect()
    await transport.read(REQUEST)
    there = far.processes()
    slow, other = config_file(str(slow_file)), config_file(f"{tmp_path}/other")
    began = time.monotonic()
    found = (await transport.read(Request((other, slow)))).files
    assert found[other.path] == "Listen 81\n"
    assert isinstance(found[slow.path], Missing)
    assert 1.0 < time.monotonic() - began < 15.0
    assert (await transport.read(Request((other,)))).files[other.path] == "Listen 81\n"
    assert far.processes() == there
    await transport.close()
    await asyncio.to_thread(far.gone, 20.0)


PRETENDS = {
    "5001 digits": ("s/^[0-9]* 4096 /{nines} 4096 /", "9" * 5001, 3, "does not behave like a POSIX shell"),
    "401 digits": ("s/^\\([0-9]*\\) 4096 /\\1 {nines} /", "9" * 401, 0, ""),
}


@pytest.mark.parametrize("kind", PRETENDS)
def test_numbers_of_a_remote_shell(tmp_path: Path, kind: str) -> None:
    """The far side is the real loop, but for one number."""
    script, nines, code, said = PRETENDS[kind]
    edited = script.format(nines=nines)
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/bash\ncase "$*" in *-G*) exit 0 ;; esac\nsh -c "${{@: -1}}" | sed -u "{edited}"\n')
    ssh.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "loadtop", "watch", "--headless", "--no-record", "-t", "2", "--host", "w=ssh://web1"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert said in done.stderr


async def test_a_banner_gives_no_command(sshd: SshdFactory, tmp_path: Path) -> None:
    banner = tmp_path / "banner"
    banner.write_text(
        "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\n"
        "ssh-keygen -f '/tmp/x' -R '$(touch /tmp/evil)'; touch /tmp/evil\n"
    )
    server = sshd(extra=f"Banner {banner}")
    (server.directory / "authorized_keys").write_text("")
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(server.config)))
    with pytest.raises(TransportError) as refused:
        await transport.connect()
    await transport.close()
    commands = f"{refused.value.fix}\n{refused.value.message}"
    assert "evil" not in commands
    assert f"ssh-keygen -f {server.known_hosts} -R '[127.0.0.1]:{server.port}'" in commands
