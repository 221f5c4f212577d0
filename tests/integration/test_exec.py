"""Containers that a command leads to: processes with mounts and a process table of their own, some with a network."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from collectors.errors import FetchError, TransportError
from collectors.machine import Request, Wanted
from collectors.transport.exec.transport import ExecTransport
from loadtop.model.secrets import BLANK
from tests.loads.processes import mark_environment, marked
from tests.loads.program import wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.program import Program, find_program
from tests.servers.redis import RedisFactory
from tests.servers.watched import Watch, until

INSIDE = ("unshare", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child")
"""Goes before the command of a server, whose addresses stay those of the test."""

OWN_NETWORK = (*INSIDE, "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"')
REQUEST = Request((Wanted("/proc/loadavg"),), processes=True)
GONE_S = 5.0

Connected = Callable[[str], Awaitable[ExecTransport]]


def entering(pid: int) -> str:
    """The command that starts a shell in the container for whose first process this one waits."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    assert wait_until(lambda: bool(children.read_text().split()))
    return f"nsenter --target {children.read_text().split()[0]} --all sh"


@pytest.fixture
async def connected() -> AsyncIterator[Connected]:
    """``await connected(command)``: a connection, which is closed after the test."""
    async with AsyncExitStack() as opened:

        async def connect(command: str) -> ExecTransport:
            transport = ExecTransport(f"exec:{command}")
            opened.push_async_callback(transport.close)
            await transport.connect()
            return transport

        yield connect


async def test_a_server_inside_is_found_and_queried_there(apache: ApacheFactory, watch: Watch) -> None:
    apache(workers=4)  # another, which is not inside
    server = apache(mpm="prefork", workers=6, launcher=INSIDE)
    host = await watch(ExecTransport(f"exec:{entering(server.pid)}"))
    sample = await until(  # a shell that brings pages is there before it has said that it is loadtop's
        host,
        lambda sample: (
            bool(sample.servers.get("apache")) and {row.group for row in sample.processes or ()} == {"httpd", "loadtop"}
        ),
    )
    (found,) = sample.servers["apache"]
    assert str(server.port) in str(found)
    assert sample.facts.source.startswith("exec:nsenter --target")
    assert any(row.pid == 1 for row in sample.processes or ())
    server.program.kill()  # unshare takes no other end


async def test_a_command_that_works_once_at_a_time_brings_no_pages(connected: Connected, tmp_path: Path) -> None:
    transport = await connected(f"flock -n {tmp_path}/lock sh")
    with pytest.raises(FetchError, match="did not start a second shell"):
        await transport.fetch("http://127.0.0.1:9/", 5.0)


async def test_a_separate_network(connected: Connected, tmp_path: Path) -> None:
    """Its loopback is not that of this machine, and connections that come from there are its own."""
    (tmp_path / "page").write_text("inside")
    serve = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(tmp_path), "8080"]
    with Program(serve, log=tmp_path / "log", launcher=OWN_NETWORK) as program:
        command = entering(program.pid)
        transport = await connected(command)
        assert transport.published
        assert "127.0.0.1" not in transport.names

        async with asyncio.timeout(15):
            while True:
                try:
                    page = await transport.fetch("http://127.0.0.1:8080/page", 5.0)
                    break
                except FetchError:
                    await asyncio.sleep(0.05)  # it does not listen yet
        assert page.text == "inside"
        program.kill()
    here = await connected("sh")
    assert not here.published
    assert {"127.0.0.1", "::1"} <= here.names


def small_container(directory: Path, *programs: str) -> str:
    """A command that starts BusyBox's shell where there is nothing but BusyBox and these programs."""
    busybox = find_program("busybox", install="apt-get install busybox")
    for name in ("bin", "proc", "dev", "usr/lib", "usr/lib64"):
        (directory / name).mkdir(parents=True)
    for name in ("lib", "lib64"):
        (directory / name).symlink_to(f"usr/{name}")
    shutil.copy(busybox, directory / "bin/busybox")
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in {*applets} - {"nc", "busybox"}:
        (directory / "bin" / name).symlink_to("busybox")
    for name in programs:
        if name == "nc":
            (directory / "bin/nc").symlink_to("busybox")
        else:
            shutil.copy(find_program(name, install=f"apt-get install {name}"), directory / "bin" / name)
    mounts = [f"mount --rbind /{name} {directory}/{name}" for name in ("proc", "dev", "usr/lib", "usr/lib64")]
    return f"""unshare --mount sh -c '{" && ".join(mounts)} && exec chroot {directory} /bin/sh'"""


@pytest.mark.parametrize("programs", [("nc",), ("bash",)])
async def test_connections_without_perl(
    connected: Connected, apache: ApacheFactory, tmp_path: Path, programs: tuple[str, ...]
) -> None:
    server = apache(workers=4)
    transport = await connected(small_container(tmp_path, *programs))
    assert (await transport.read(REQUEST)).processes
    for _ in range(3):
        page = await transport.fetch(f"{server.status_url}?auto", 5.0)
        assert (page.status, "Scoreboard" in page.text) == (200, True)
    server.program.stop()
    with pytest.raises(FetchError, match="connection refused: nothing is listening there"):
        await transport.fetch(f"{server.status_url}?auto", 5.0)
    with pytest.raises(FetchError):
        await transport.ask("/run/none.sock", b"x", 5.0)


async def test_a_session_with_a_server(connected: Connected, redis: RedisFactory) -> None:
    """Question after question through one connection, by address and by unix socket."""
    server = redis()
    transport = await connected("sh")
    for address in (f"127.0.0.1:{server.port}", f"{server.directory}/redis.sock"):
        reader, writer = await asyncio.open_unix_connection(await transport.reach(address))
        for _ in range(3):
            writer.write(b"PING\r\n")
            assert await asyncio.wait_for(reader.readline(), 5.0) == b"+PONG\r\n"
        writer.close()
    assert await transport.ask(f"127.0.0.1:{server.port}", b"PING\r\nQUIT\r\n", 5.0) == b"+PONG\r\n+OK\r\n"


async def test_a_command_that_brings_a_terminal(connected: Connected, apache: ApacheFactory) -> None:
    transport = await connected("script --quiet --command sh /dev/null")
    assert (await transport.read(REQUEST)).processes
    assert (await transport.fetch(apache().url, 5.0)).status == 200


async def test_it_connects_again_when_the_container_was_restarted(
    connected: Connected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.transport.shell.transport.PAUSES_S", (0.1, 0.2))
    command = tmp_path / "command"

    def start(servers: ExitStack) -> Program:
        container = servers.enter_context(Program(["sleep", "60"], log=tmp_path / "log", launcher=INSIDE))
        command.write_text(f"exec {entering(container.pid)}")
        return container

    with ExitStack() as servers:
        container = start(servers)
        transport = await connected(f"sh {command}")
        assert 1 in (await transport.read(REQUEST)).pids
        container.kill()
        with pytest.raises(TransportError, match="no connection since"):
            await transport.read(REQUEST)
        container = start(servers)
        async with asyncio.timeout(15):
            while True:
                try:
                    reading = await transport.read(REQUEST)
                    break
                except TransportError:
                    await asyncio.sleep(0.05)
        assert 1 in reading.pids
        container.kill()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("yes", "without a complete sample"),
        ("true", "docker exec -i"),
        ("none-of-that-name", "cannot run none-of-that-name: No such file or directory"),
        ("sh -c 'echo the input device is not a TTY >&2; exit 1'", "leave out its -t"),
        ("sh -c 'yes >&2'", "keeps printing"),
    ],
)
async def test_not_a_shell(connected: Connected, command: str, problem: str) -> None:
    with pytest.raises(TransportError) as refused:
        await connected(command)
    assert problem in str(refused.value)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_nothing_is_left_there(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch, how: signal.Signals) -> None:
    server = apache(launcher=INSIDE, workers=4)
    command = entering(server.pid)
    mark = mark_environment(monkeypatch)
    words = ["watch", "--headless", "--no-record", "--host", f"web=exec:{command}"]
    with subprocess.Popen(
        [sys.executable, "-m", "loadtop", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        try:
            assert program.stdout is not None
            while "busy" not in (line := program.stdout.readline()):
                assert line, "it ended"
            assert len(marked(mark)) > 3
            program.send_signal(how)
            here = {program.pid, *marked(mark, "guard_process.py")} if how is signal.SIGSTOP else set[int]()
            assert wait_until(lambda: {*marked(mark)} <= here, GONE_S), marked(mark)
        finally:
            program.kill()
    assert wait_until(lambda: not marked(mark), GONE_S)
    server.program.kill()


def test_a_load_on_a_container(apache: ApacheFactory, tmp_path: Path) -> None:
    """It is the machine under test, and its command is reported without secrets."""
    server = apache(launcher=INSIDE, workers=4)
    found = tmp_path / "found.json"
    command = f"env --unset=none TOKEN=hidden {entering(server.pid)}"
    words = ["--headless", "--no-record", "-t", "5", "--rate", "50", "--json", str(found)]
    words += ["--host", f"web=exec:{command}", server.url]
    done = subprocess.run([sys.executable, "-m", "loadtop", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hidden" not in done.stdout + done.stderr
    host = json.loads(found.read_text())["hosts"][0]
    assert (host["name"], host["role"]) == ("web", "target")
    assert host["source"].startswith(f"exec:env --unset=none TOKEN={BLANK} nsenter")
    assert host["apache"]["capacity"] == 4
    server.program.kill()


def test_doctor_names_missing_parts() -> None:
    command = "sh -c 'echo \"Error: No such container: web\" >&2; exit 1' --token secret-word"
    words = ["doctor", "--json", "-", "--host", f"web=exec:{command}"]
    done = subprocess.run([sys.executable, "-m", "loadtop", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    (host,) = json.loads(done.stdout)["hosts"]
    assert not host["reachable"]
    assert "no container has that name" in host["problem"]
    assert "secret-word" not in done.stdout + done.stderr
