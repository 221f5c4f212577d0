"""A remote host over a real sshd: the same readings as near ones, pages through it, and nothing left there."""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from collectors.errors import FetchError, TransportError
from collectors.host import HostCollector, remote_machine
from collectors.linux import sleeping, sockets
from collectors.linux.locks import open_files, parse_open_files
from collectors.linux.machine import LinuxMachine
from collectors.linux.peers import CLOCKS, Asked, Clocks
from collectors.linux.peers import parse as parse_clocks
from collectors.linux.processes import parse_stat
from collectors.linux.sockets import (
    FEW_TABLES,
    LISTENERS,
    MOST_CLIENTS,
    OPEN_TABLES,
    holders,
    parse_holders,
    parse_listeners,
    parse_table,
)
from collectors.machine import Endpoint, Missing, Page, ProcessStat, Reading, Request, Wanted
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.shell import frames, questions
from collectors.transport.shell.pages import RemotePages
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import Listener, State
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from tests.loads.program import started, wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.program import find_program, free_port
from tests.servers.sshd import Sshd, SshdFactory, put_ssh
from tests.servers.watched import until


def descendants(pid: int) -> dict[int, str]:
    """Processes below this one, by pid, with their command lines."""
    table = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    rows = [line.split(None, 2) for line in table.splitlines()]
    found = {pid: ""}
    for _ in rows:
        more = {int(row[0]): row[2] for row in rows if int(row[1]) in found and int(row[0]) not in found}
        if not more:
            break
        found |= more
    del found[pid]
    return found


def loops(server: Sshd) -> list[int]:
    """The processes of ours that run there: a shell that waits, and perl with a shell of its own; or a loop, the awk
    that it feeds, and the shell that waits for that."""
    mine = ("eval", "perl", "awk")
    return [pid for pid, command in descendants(server.pid).items() if any(word in command for word in mine)]


def none_left(server: Sshd) -> bool:
    return wait_until(lambda: not loops(server))


def program_of(where: int | str) -> Path:
    """The file that a process runs, or that a name leads to in the end."""
    return Path(f"/proc/{where}/exe").readlink() if isinstance(where, int) else Path(where).resolve()


@pytest.fixture
async def far(machine: Sshd) -> AsyncIterator[SshTransport]:
    """A connection to a remote host."""
    transport = machine.transport()
    await transport.connect()
    yield transport
    await transport.close()


def stat_of(pid: int) -> ProcessStat:
    return parse_stat(Path(f"/proc/{pid}/stat").read_text())


@pytest.fixture(params=["plain", "two words"])
def busy_parent(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[int]:
    """A process with a child that took some CPU time and ended. The name with a space takes another way there."""
    program = tmp_path / request.param
    program.symlink_to(find_program("bash", install="apt-get install bash"))
    script = "(trap : 0; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); read x"
    with subprocess.Popen([program, "-c", script], stdin=subprocess.PIPE) as parent:
        assert wait_until(lambda: stat_of(parent.pid).ended_ticks > 0)
        yield parent.pid
        parent.kill()


async def test_the_cpu_time_of_ended_children(far: SshTransport, busy_parent: int) -> None:
    processes = (await far.read(Request((Wanted("/proc/stat"),), processes=True))).processes
    assert isinstance(processes, Mapping)
    assert parse_stat(str(processes[busy_parent])) == stat_of(busy_parent)


async def test_local_and_remote_agree(far: SshTransport) -> None:
    there, here = LinuxMachine(far, KINDS), LinuxMachine(LocalTransport(), KINDS)
    for _ in range(2):
        await asyncio.gather(there.sample(), here.sample())
    theirs, ours = await asyncio.gather(there.sample(), here.sample())
    await here.close()
    assert theirs.at == pytest.approx(ours.at, abs=5)
    assert theirs.facts.source == "ssh://web1"
    assert (theirs.facts.hostname, theirs.facts.kernel) == (ours.facts.hostname, ours.facts.kernel)
    assert (theirs.facts.cores, theirs.facts.page_kb) == (ours.facts.cores, ours.facts.page_kb)
    assert {found.collector: found.state for found in theirs.outcomes} == {
        found.collector: found.state for found in ours.outcomes
    }
    assert theirs.cpu is not None
    assert ours.cpu is not None
    assert theirs.cpu.total.idle == pytest.approx(ours.cpu.total.idle, abs=200)
    assert len(theirs.cpu.cores) == len(ours.cpu.cores)
    assert theirs.memory is not None
    assert ours.memory is not None
    assert theirs.memory.total_kb == ours.memory.total_kb
    assert theirs.memory.available_kb == pytest.approx(ours.memory.available_kb, abs=200_000)
    assert [disk.name for disk in theirs.disks or ()] == [disk.name for disk in ours.disks or ()]
    assert [(line.name, line.link_mbit) for line in theirs.networks or ()] == [
        (line.name, line.link_mbit) for line in ours.networks or ()
    ]
    assert theirs.tcp is not None
    assert ours.tcp is not None
    assert theirs.tcp.passive_opens == pytest.approx(ours.tcp.passive_opens, abs=500)


async def test_listening_sockets_of_a_remote_process(far: SshTransport, machine: Sshd) -> None:
    there = LinuxMachine(far, KINDS)
    sample = await there.sample()
    assert sample.tcp is not None
    assert machine.port in [found.port for found in sample.tcp.listeners]
    found = await there.listening([machine.pid])
    assert [place.port for place in found[machine.pid]] == [machine.port]


async def test_unreadable_parts_are_named(far: SshTransport) -> None:
    wanted = ("/proc/none", "/proc/loadavg", "/proc/none/fd/", "/sys/class/net/lo/speed", "/proc/a b", "/proc/*")
    reading = await far.read(Request(tuple(map(Wanted, wanted))))
    assert reading.files["/proc/none"] == reading.files["/proc/none/fd/"] == Missing("no such file")
    assert isinstance(reading.files["/proc/loadavg"], str)
    assert reading.files["/proc/a b"] == reading.files["/proc/*"] == Missing("not available there")


async def test_a_file_that_comes_back_as_it_was_is_read_again(far: SshTransport, tmp_path: Path) -> None:
    file = tmp_path / "limit"
    request = Request((Wanted(str(file)), Wanted("/proc/loadavg")), processes=True)
    for text in ("max\n", "max\n", "", "max\n", "9\n", "9\n"):
        file.write_text(text) if text else file.unlink()
        found = (await far.read(request)).files[str(file)]
        assert found == (text or Missing("no such file"))


@pytest.fixture(params=["perl", "ss"])
async def telling(sshd: SshdFactory, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[SshTransport]:
    """A remote host where one of these tells the clocks of connections."""
    if request.param == "ss":
        (tmp_path / "perl").symlink_to("/bin/false")
    transport = sshd(extra=f'ForceCommand PATH={tmp_path}:$PATH; eval "$SSH_ORIGINAL_COMMAND"').transport()
    await transport.connect()
    yield transport
    await transport.close()


async def test_open_questions_are_counted_there(telling: SshTransport) -> None:
    request = Request((Wanted(CLOCKS),))

    async def asked(place: Endpoint) -> Asked:
        text = (await telling.read(request)).files[CLOCKS]
        assert isinstance(text, str), text
        clocks = parse_clocks(text)
        return next((each for each in clocks.asked if each.place == place), Asked(place, *[0] * 7))

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as server,
    ):
        place = Endpoint(*server.getsockname())
        client.sendall(b"question")
        server.recv(10)
        server.sendall(b"answer")  # who was never answered waits for a greeting
        client.recv(10)
        before = await asked(place)
        client.sendall(b"question")
        async with asyncio.timeout(15):
            while (opened := await asked(place)).questions < 2:
                pass  # each reading waits for the remote host
        assert opened.segments == before.segments + 1
        server.recv(10)
        server.sendall(b"answer")
        client.recv(10)
        answered = await asked(place)
        async with asyncio.timeout(15):
            while (later := await asked(place)).connections < answered.connections + 3:
                pass
        assert later.questions <= answered.questions + 1


async def test_messages_without_an_answer_are_counted_apart_there(telling: SshTransport) -> None:
    request = Request((Wanted(CLOCKS),))
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as server,
    ):
        place = Endpoint(*server.getsockname())

        async def ask() -> None:
            while True:
                client.sendall(b"question")
                server.recv(10)
                server.sendall(b"answer")
                client.recv(10)
                client.sendall(b"closing: ")
                await asyncio.sleep(0.01)
                server.recv(10)

        asking = asyncio.create_task(ask())
        async with asyncio.timeout(20):
            found = dict[Endpoint, float]()
            while found.get(place, 0.0) < 3:
                text = (await telling.read(request)).files[CLOCKS]
                assert isinstance(text, str), text
                found = {each.place: each.questions - each.answered for each in parse_clocks(text).asked}
        asking.cancel()
        await asyncio.wait((asking,))


async def test_who_was_greeted_and_has_answered_waits(telling: SshTransport) -> None:
    """All this may happen within one tick of the clocks. Then the number of segments tells, once it was seen on other
    connections that are clearly waiting."""
    request = Request((Wanted(CLOCKS),))
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:
        place = Endpoint(*listener.getsockname())

        async def greet(pause_s: float) -> None:
            client = stack.enter_context(socket.create_connection(listener.getsockname()))
            server = stack.enter_context(listener.accept()[0])
            server.sendall(b"greeting")
            client.recv(10)
            await asyncio.sleep(pause_s)
            client.sendall(b"name")
            server.recv(10)

        async def asked() -> Asked:
            text = (await telling.read(request)).files[CLOCKS]
            assert isinstance(text, str), text
            return next((each for each in parse_clocks(text).asked if each.place == place), Asked(place, *[0] * 7))

        for _ in range(5):
            await greet(0.02)
        async with asyncio.timeout(15):
            while (before := await asked()).questions < 5:
                pass  # each reading waits for the remote host
        for _ in range(5):
            await greet(0.0)
        async with asyncio.timeout(15):
            while (later := await asked()).connections < before.connections + 10:
                pass
        passed = later.connections - before.connections
        assert later.questions - before.questions >= 0.9 * passed  # one may be read before it has answered


async def test_accepted_connections_are_told_although_few_readings_list_them(far: SshTransport) -> None:
    request = Request((Wanted(CLOCKS),))

    async def told() -> Clocks:
        text = (await far.read(request)).files[CLOCKS]
        assert isinstance(text, str), text
        return parse_clocks(text)

    with contextlib.ExitStack() as sockets_of_ours:
        listeners = [sockets_of_ours.enter_context(socket.create_server(("", 0))) for _ in range(17)]
        ports = [listener.getsockname()[1] for listener in listeners]

        def connect(address: str, number: int) -> Endpoint:
            sockets_of_ours.enter_context(socket.create_connection((address, ports[number])))
            sockets_of_ours.enter_context(listeners[number].accept()[0])
            return Endpoint(address, ports[number])

        places = {connect("127.0.0.1", number) for number in range(17)}
        before = await told()
        async with asyncio.timeout(15):
            while (later := await told()).readings < before.readings + 4:
                pass  # each reading waits for the remote host
        counted = {
            clocks.readings: {each.place: each.connections for each in clocks.asked} for clocks in (before, later)
        }
        passed = later.readings - before.readings
        assert [counted[later.readings][each] - counted[before.readings].get(each, 0) for each in places] == [
            passed
        ] * 17
        assert places <= set(later.accepted)
        another = connect("127.0.0.2", 0)
        async with asyncio.timeout(15):
            while another not in (await told()).accepted:
                pass


@pytest.mark.parametrize("place", ["ssh", "local"])
async def test_accept_queues_are_added_up(far: SshTransport, place: str) -> None:
    local = LocalTransport()
    machine = far if place == "ssh" else local
    request = Request((Wanted(CLOCKS),))
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as waiting:
        port = listener.getsockname()[1]
        for _ in range(3):
            waiting.enter_context(socket.create_connection(("127.0.0.1", port)))
        readings = 0
        async with asyncio.timeout(15):
            while readings < 2:
                text = (await machine.read(request)).files[CLOCKS]
                assert isinstance(text, str), text
                clocks = parse_clocks(text)
                readings = clocks.queue_readings
                assert {each.port: each.connections for each in clocks.queued}.get(port, 0) == 3 * readings
    await local.close()


@pytest.mark.parametrize("place", ["ssh", "local"])
@pytest.mark.parametrize(("table", "address"), [(0, "127.0.0.1"), (1, "::1")])
async def test_connections_that_are_alike_are_left_out(far: SshTransport, place: str, table: int, address: str) -> None:
    machine = far if place == "ssh" else LocalTransport()
    wanted, family = FEW_TABLES[table], (socket.AF_INET, socket.AF_INET6)[table]
    with socket.create_server((address, 0), family=family) as listener, contextlib.ExitStack() as opened:
        end = f":{listener.getsockname()[1]:04X}"
        for number in range(2 * MOST_CLIENTS):
            opened.enter_context(socket.create_connection(listener.getsockname()[:2]))
            if number:  # one waits in the accept queue
                opened.enter_context(listener.accept()[0])
        whole = str((await machine.read(Request((OPEN_TABLES[table],)))).files[OPEN_TABLES[table].path])
        few = str((await machine.read(Request((wanted,)))).files[wanted.path])
    all_rows = [line.split() for line in whole.splitlines()]
    rows = [line.split() for line in few.splitlines()]
    assert {tuple(row[1:]) for row in rows if end in row[1] + row[2]} <= {tuple(row[1:]) for row in all_rows}
    assert sorted(row[3] for row in rows if row[1].endswith(end)) == ["01", "0A"]
    assert len({row[9] for row in rows if row[2].endswith(end)}) == MOST_CLIENTS
    assert len([row for row in all_rows if row[2].endswith(end)]) == 2 * MOST_CLIENTS
    if place == "local":
        await machine.close()


async def test_where_threads_wait_there_comes_with_the_next_reading(far: SshTransport) -> None:
    commands = (("sleep", "60"), (sys.executable, "-c", "import asyncio; asyncio.run(asyncio.sleep(60))"))
    running = [await asyncio.create_subprocess_exec(*command) for command in commands]
    sleeper, loop = (f"{process.pid}/task/{process.pid}" for process in running)
    request = Request((Wanted(CLOCKS), Wanted("/proc/uptime")), processes=True, threads=(sleeper, loop))
    try:
        assert (await far.read(request)).wchan == {}
        found: Mapping[str, str] = {}
        async with asyncio.timeout(15):
            while not (sleeping.sleeps(found.get(sleeper, "")) and sleeping.timeout_ms(found.get(loop, ""))):
                found = (await far.read(request)).wchan  # until both wait
    finally:
        for process in running:
            process.kill()
            await process.wait()
    assert found.keys() == {sleeper, loop}
    assert 40_000 < (sleeping.timeout_ms(found[loop]) or 0) <= 60_000, found


async def test_connections_to_unix_sockets_are_counted_there(far: SshTransport, tmp_path: Path) -> None:
    request, place = Request((Wanted(CLOCKS),)), Endpoint(str(tmp_path / "app.sock"), 0)

    async def asked() -> Asked:
        text = (await far.read(request)).files[CLOCKS]
        assert isinstance(text, str), text
        return next((each for each in parse_clocks(text).asked if each.place == place), Asked(place, *[0] * 7))

    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        assert not (await asked()).connections
        listener.bind(place.address)
        listener.listen()
        client.connect(place.address)
        async with asyncio.timeout(15):
            while (waiting := await asked()).questions < 2:
                pass  # each reading waits for the remote host
        with listener.accept()[0]:
            async with asyncio.timeout(15):
                while (opened := await asked()).questions < waiting.questions + 2:
                    pass
    assert (opened.user, opened.segments, opened.connections) == (os.getuid(), 1, opened.questions)


async def test_open_files_are_told_there_with_their_inodes(far: SshTransport, tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with file.open("w"):
        wanted = open_files([os.getpid(), 2**22])
        files = parse_open_files((await far.read(Request((wanted,)))).files[wanted.path])
    assert files[file.stat().st_ino] == str(file)


async def test_all_who_wait_for_a_lock_are_told(far: SshTransport, tmp_path: Path) -> None:
    """The kernel tells of the locks before it alone: this one does not fit beside them."""
    file = tmp_path / "wanted"

    def lock() -> None:
        with file.open("w") as wanted:
            fcntl.flock(wanted, fcntl.LOCK_EX)

    def waiting(text: str) -> int:
        return sum(f":{file.stat().st_ino} " in line and "->" in line for line in text.splitlines())

    threads = [threading.Thread(target=lock) for _ in range(80)]
    with contextlib.ExitStack() as opened:
        for name in (file.name, *map(str, range(8))):
            fcntl.flock(opened.enter_context((tmp_path / name).open("w")), fcntl.LOCK_EX)
        for thread in threads:
            thread.start()
        assert wait_until(lambda: waiting(Path("/proc/locks").read_text()) == len(threads))
        reading = await far.read(Request((Wanted("/proc/locks"),), processes=True))
        found = waiting(reading.text("/proc/locks"))
    for thread in threads:
        thread.join()
    assert found == len(threads)


async def test_pages_come_from_the_machine_itself(far: SshTransport, apache: ApacheFactory) -> None:
    server = apache(mpm="event")
    machine = LinuxMachine(far, KINDS)
    page = await machine.fetch(f"http://127.0.0.1:{server.port}/server-status?auto", 5.0)
    assert page.status == 200
    assert "Scoreboard:" in page.text
    with pytest.raises(FetchError, match="connection refused: nothing is listening there"):
        await machine.fetch(f"http://127.0.0.1:{free_port()}/", 5.0)
    rows = [row for _ in range(3) for row in (await machine.sample()).processes or ()]
    assert server.pid in {row.pid for row in rows if row.group == "httpd"}


async def test_status_pages_come_with_the_sample_that_follows(
    far: SshTransport, apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perl asks for them, once the server has answered through the connection."""
    monkeypatch.setattr(questions, "PATIENCE", 1)  # this machine may be busy, and the server slow
    asked: list[str] = []
    get = RemotePages.get

    async def counted(there: RemotePages, url: str, timeout_s: float) -> Page:
        asked.append(url)
        return await get(there, url, timeout_s)

    monkeypatch.setattr(RemotePages, "get", counted)
    server = apache(mpm="event")
    host = HostCollector("web", "target", remote_machine(far), status_urls={"apache": [f"{server.url}server-status"]})
    found: list[ApacheStatus] = []
    await host.start(0.2)
    try:
        while len(found) < len(asked) + 3:
            sample = await until(host, lambda sample: APACHE.readings(sample) not in ((), tuple(found[-1:])))
            found.extend(APACHE.readings(sample))
    finally:
        await host.close()
    assert all(0.0 < (status.fetch_s or 0.0) < 1.0 for status in found)
    assert [status.at for status in found] == sorted(status.at or 0.0 for status in found)


async def test_proportional_memory_comes_later(far: SshTransport, apache: ApacheFactory) -> None:
    server = apache(mpm="prefork", workers=10)
    machine = LinuxMachine(far, KINDS)
    sizes: dict[int, int | None] = {}
    async with asyncio.timeout(30):
        while (sizes.get(server.pid) or 0) <= 100:
            sizes |= {row.pid: row.pss_kb for row in (await machine.sample()).processes or () if row.group == "httpd"}
            await asyncio.sleep(0.05)


async def test_one_channel_and_no_file_there(sshd: SshdFactory) -> None:
    server = sshd()
    transport = server.transport()
    await transport.connect()
    machine = LinuxMachine(transport, KINDS)
    for _ in range(3):
        await machine.sample()
    assert await asyncio.to_thread(opened_files, loops(server)) == set()
    shells = [command for command in descendants(server.pid).values() if "-c eval" in command]
    await transport.close()
    assert len(shells) == 1  # the one that waits for perl: a second channel would have its own


def opened_files(pids: list[int]) -> set[str]:
    """Files that are open for longer than a moment: neither pipes nor sockets nor what is no file at all."""
    found: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                found.add(str(link.readlink()))
    return {path for path in found if not path.startswith(("pipe:", "socket:", "/dev/", "/proc", "/sys/"))}


async def test_nothing_is_left_after_the_end(sshd: SshdFactory) -> None:
    server = sshd()
    transport = server.transport()
    await transport.connect()
    assert len(loops(server)) == 3
    await transport.close()
    assert none_left(server)


@pytest.mark.parametrize("whom", ["loadtop", "ssh"])
def test_nothing_is_left_after_kill(sshd: SshdFactory, tmp_path: Path, whom: str) -> None:
    server = sshd()
    words = ("watch", "--headless", "--no-record", "--host", "w=ssh://web1")
    with started(*words, env=put_ssh(tmp_path, server.config)) as program:
        assert wait_until(lambda: bool(loops(server)))
        old, mine = loops(server), [pid for pid, line in descendants(program.pid).items() if "/ssh " in line]
        os.kill(program.pid if whom == "loadtop" else mine[0], signal.SIGKILL)
        # The connection is made again after a second, unless loadtop itself is gone.
        assert wait_until(lambda: not set(old) & set(loops(server)))
    assert none_left(server)


async def test_accept_queues_come_with_every_sample(far: SshTransport) -> None:
    """Two connections that no one accepts, and then a third, at once in the next sample; the limit is listen(2)'s."""
    machine = LinuxMachine(far, KINDS)
    with contextlib.ExitStack() as held, socket.create_server(("127.0.0.1", 0), backlog=7) as server:
        port = server.getsockname()[1]
        for connections, more in ((0, 0), (2, 2), (3, 1)):
            for _ in range(more):
                held.enter_context(socket.create_connection(("127.0.0.1", port)))
            tcp = (await machine.sample()).tcp
            assert tcp is not None
            assert [found for found in tcp.listeners if found.port == port] == [Listener(port, connections, 7)]


SHELLS = (("dash", "mawk", "perl"), ("bash", "gawk", "false"), ("busybox", "busybox", "false"))


@pytest.mark.parametrize(("shell", "awk", "perl"), SHELLS)
async def test_shells(sshd: SshdFactory, tmp_path: Path, shell: str, awk: str, perl: str) -> None:
    """With BusyBox, every program there is its. A perl that does not work is none."""
    binary = find_program(shell, install=f"apt-get install {shell}")
    names = ("sh", "head", "tr", "dd", "ls") if shell == "busybox" else ("sh",)
    for name in names:
        (tmp_path / name).symlink_to(binary)
    (tmp_path / "awk").symlink_to(find_program(awk, install=f"apt-get install {awk}"))
    (tmp_path / "perl").symlink_to(find_program(perl, install=f"apt-get install {perl}"))
    server = sshd(extra=f'ForceCommand PATH={tmp_path}:$PATH; eval "$SSH_ORIGINAL_COMMAND"')
    transport = server.transport()
    await transport.connect()
    machine = LinuxMachine(transport, KINDS)
    try:
        await machine.sample()
        await machine.sample()
        sample = await machine.sample()
        states = {found.collector: found for found in sample.outcomes}
        assert {name: found.reason for name, found in states.items() if found.state is State.FAILED} == {}
        assert sample.cpu is not None
        assert sample.disks
        assert sample.processes is not None
        assert sample.tcp is not None
        assert server.port in [found.port for found in sample.tcp.listeners]
        mine = f"/proc/{os.getpid()}/cmdline"
        reading = await transport.read(Request(tuple(map(Wanted, ("/proc/none", mine, "/proc/loadavg")))))
        assert reading.files["/proc/none"] == Missing("no such file")
        assert "\0" in str(reading.files[mine])
        forged = ("x socket:[7]", "x -> socket:[7]", "x\nl 1 0 0 64 Nov 23 01:11 5 -> socket:[7]")
        with contextlib.ExitStack() as opened:
            held = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            for name in forged:
                opened.enter_context((tmp_path / name).open("w"))
            wanted, its = holders((inode := os.fstat(held.fileno()).st_ino, 7)), sockets.held_by((os.getpid(), 1 << 30))
            texts = (await transport.read(Request((wanted, its)))).files
            assert parse_holders(texts[wanted.path]) == {inode: {os.getpid()}}
            assert parse_holders(texts[its.path]).items() >= {(inode, frozenset((os.getpid(),)))}
            assert 7 not in parse_holders(texts[its.path])
            for tables in (OPEN_TABLES, FEW_TABLES):
                table = (await transport.read(Request(tables))).files[tables[0].path]
                assert held.getsockname()[1] in [row.port for row in parse_table(str(table))]
        assert program_of(loops(server)[0]) == program_of(binary)
    finally:
        await transport.close()


@pytest.mark.parametrize("program", ["perl", "ss"])
async def test_tested_ports_there_come_before_others(
    sshd: SshdFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """Anyone can open more sockets than are read."""
    monkeypatch.setattr(frames, "MOST_DEVICES", 1)
    if program == "ss":
        (tmp_path / "perl").symlink_to("/bin/false")
    server = sshd(extra=f'ForceCommand PATH={tmp_path}:$PATH; eval "$SSH_ORIGINAL_COMMAND"')
    transport = server.transport()
    await transport.connect()
    try:
        with contextlib.ExitStack() as opened:
            several = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(4)]
            ports = frozenset(held.getsockname()[1] for held in several)
            request = Request((Wanted("/proc/stat"), Wanted(LISTENERS), *OPEN_TABLES), processes=True, ports=ports)
            texts = (await transport.read(request)).files
            assert ports <= {found.port for found in parse_listeners(str(texts[LISTENERS]))}
            assert ports <= {row.port for row in parse_table(str(texts[OPEN_TABLES[0].path]))}
    finally:
        await transport.close()


async def test_a_perl_that_may_not_ask_the_kernel(sshd: SshdFactory, tmp_path: Path) -> None:
    """Then ``ss`` is asked, from the next sample on."""
    perl = find_program("perl", install="apt-get install perl")
    (tmp_path / "perl").write_text(
        f'#!/bin/sh\nexec {perl} -e "$(printf %s "$2" | sed "s/= socket(my .link, 16, 3, 4)/= 0/")" "$3"\n'
    )
    (tmp_path / "perl").chmod(0o755)
    server = sshd(extra=f'ForceCommand PATH={tmp_path}:$PATH; eval "$SSH_ORIGINAL_COMMAND"')
    transport = server.transport()
    await transport.connect()
    machine = LinuxMachine(transport, KINDS)
    for _ in range(2):
        await machine.sample()
    sample = await machine.sample()
    await transport.close()
    assert sample.tcp is not None
    assert server.port in [found.port for found in sample.tcp.listeners]


async def test_a_cancelled_reading_spoils_no_later_one(far: SshTransport) -> None:
    request = Request((Wanted("/proc/loadavg"),), processes=True)
    for pause in (0.0, 0.001, 0.003, 0.005, 0.01):
        reading = asyncio.create_task(far.read(request))
        await asyncio.sleep(pause)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        found = await far.read(request)
        assert os.getpid() in found.pids
        assert isinstance(found.files["/proc/loadavg"], str)


async def test_the_end_may_come_while_a_reading_is_awaited(machine: Sshd) -> None:
    for pause in (0.0, 0.002, 0.01):
        transport = machine.transport()
        await transport.connect()
        reading = asyncio.create_task(transport.read(Request((Wanted("/proc/loadavg"),), processes=True)))
        await asyncio.sleep(pause)
        await transport.close()
        (outcome,) = await asyncio.gather(reading, return_exceptions=True)
        assert isinstance(outcome, (TransportError, Reading))


async def test_readings_are_dated_by_the_uptime(far: SshTransport) -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    reading = await far.read(Request((Wanted("/proc/stat"),)))
    assert before - 0.011 <= reading.at <= time.clock_gettime(time.CLOCK_BOOTTIME)
