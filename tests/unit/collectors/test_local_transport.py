"""Reading a directory made like / : what is there, what is not, and what cannot be read."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from collectors import host_names
from collectors.errors import TransportError
from collectors.linux import sockets
from collectors.linux.machine import LinuxMachine
from collectors.machine import IDLE_EVERY, Missing, Request, Wanted
from collectors.servers import KINDS
from collectors.transport import files, local
from collectors.transport.local import LocalTransport


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for pid in (1, 20, 300):
        process = tmp_path / "proc" / str(pid)
        process.mkdir(parents=True)
        (process / "stat").write_text(f"{pid} (x) S\n")
    (tmp_path / "proc" / "stat").write_text("cpu 1 2 3 4\n")
    (tmp_path / "proc" / "20" / "smaps_rollup").write_text("Pss: 5 kB\n")
    return tmp_path


@pytest.fixture
async def transport(root: Path) -> AsyncIterator[LocalTransport]:
    local = LocalTransport(root=str(root))
    yield local
    await local.close()


async def test_who_holds_a_socket(root: Path, transport: LocalTransport) -> None:
    for pid, links in ((1, ("socket:[71]", "/dev/null")), (20, ("socket:[72]", "socket:[7]", "pipe:[71]"))):
        (root / "proc" / str(pid) / "fd").mkdir()
        for number, link in enumerate(links):
            (root / "proc" / str(pid) / "fd" / str(number)).symlink_to(link)
    wanted = sockets.holders((71, 72, 73))
    text = (await transport.read(Request((wanted,)))).files[wanted.path]
    assert sockets.parse_holders(text) == {71: {1}, 72: {20}}


async def test_names_of_open_files_are_not_sockets(root: Path, transport: LocalTransport) -> None:
    (root / "proc" / "20" / "fd").mkdir()
    for number, end in enumerate("\n\v\x1c\u2028 "):
        (root / "proc" / "20" / "fd" / str(number)).symlink_to(f"/x{end}socket:[71]")
    wanted = sockets.holders((71,))
    assert (await transport.read(Request((wanted,)))).files[wanted.path] == ""


async def test_open_files_are_looked_through_up_to_a_limit(
    root: Path, transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the second process that would be one too many for it, and all those of the third, are left out."""
    monkeypatch.setattr(files, "_LINKS_OF_ONE", 3)
    monkeypatch.setattr(files, "_MOST_LINKS", 5)
    for pid in (1, 20, 300):
        (root / "proc" / str(pid) / "fd").mkdir()
        for number in range(4 if pid == 20 else 2):
            (root / "proc" / str(pid) / "fd" / str(number)).symlink_to(f"socket:[{pid}{number}]")
    wanted = sockets.holders(int(f"{pid}{number}") for pid in (1, 20, 300) for number in range(4))
    text = (await transport.read(Request((wanted,)))).files[wanted.path]
    found = sockets.parse_holders(text)
    assert (len(found), {pid for pids in found.values() for pid in pids}) == (5, {1, 20})


async def test_no_user_uses_up_all_that_is_looked_through(
    root: Path, transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone can start older processes, with many open files each."""
    monkeypatch.setattr(files, "_LINKS_OF_ONE", 3)
    monkeypatch.setattr(files, "_MOST_LINKS", 9)
    mine, others = 900, [10, 11, 12, 13, 14]

    def by_user(_: str) -> dict[int, list[int]]:
        return {1001: sorted(others, reverse=True), 33: [mine]}

    monkeypatch.setattr(files, "_processes", by_user)
    for pid in (*others, mine):
        (root / "proc" / str(pid) / "fd").mkdir(parents=True)
        for number in range(3):
            (root / "proc" / str(pid) / "fd" / str(number)).symlink_to(f"socket:[{pid}{number}]")
    wanted = sockets.holders((9000,))
    text = (await transport.read(Request((wanted,)))).files[wanted.path]
    assert sockets.parse_holders(text) == {9000: {mine}}


async def test_sockets_in_time_wait_are_left_out(root: Path, transport: LocalTransport) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    rows = [f"{n:4}: 0100007F:1F90 0100007F:{n:04X} {state} 00000000:00000000 0 0 0\n" for n, state in
            enumerate(("0A", "01", "06", "06", "08", "06"))]  # fmt: skip
    (root / "proc" / "net").mkdir(exist_ok=True)
    (root / "proc" / "net" / "tcp").write_text(head + "".join(rows))
    wanted, none = sockets.OPEN_TABLES
    files = (await transport.read(Request((wanted, none)))).files
    assert files[wanted.path] == head + rows[0] + rows[1] + rows[4]
    assert isinstance(files[none.path], Missing)
    short = replace(wanted, limit=len(head) + 10)
    assert (await transport.read(Request((short,)))).files[wanted.path] == (head + rows[0])[: len(head) + 10]


async def test_texts_and_reasons(root: Path, transport: LocalTransport) -> None:
    (root / "proc" / "meminfo").symlink_to("self/nowhere")
    (root / "proc" / "vmstat").mkdir()
    files = (Wanted("/proc/stat"), Wanted("/proc/meminfo"), Wanted("/proc/vmstat"), Wanted("@listeners"))
    reading = await transport.read(Request(files))
    assert reading.files == {
        "/proc/stat": "cpu 1 2 3 4\n",
        "/proc/meminfo": Missing("no such file"),
        "/proc/vmstat": Missing("is a directory"),
        "@listeners": Missing("not available here"),
    }
    assert isinstance(reading.processes, Missing)
    assert set(reading.seconds) == set(reading.files)
    assert reading.at > 0


async def test_a_file_is_read_up_to_its_limit(root: Path, transport: LocalTransport) -> None:
    (root / "proc" / "long").write_text("x" * 200_000)
    reading = await transport.read(Request((Wanted("/proc/long", 150_000),)))
    assert reading.files == {"/proc/long": "x" * 150_000}


async def test_invalid_text_is_still_read(root: Path, transport: LocalTransport) -> None:
    (root / "proc" / "bytes").write_bytes(b"\xff\x00a\n")
    reading = await transport.read(Request((Wanted("/proc/bytes"),)))
    assert reading.files == {"/proc/bytes": "\N{REPLACEMENT CHARACTER}\x00a\n"}


async def test_a_pipe_does_not_hang(root: Path, transport: LocalTransport) -> None:
    os.mkfifo(root / "proc" / "pipe")
    reading = await transport.read(Request((Wanted("/proc/pipe"),)))
    assert reading.files == {"/proc/pipe": ""}


async def test_links(root: Path, transport: LocalTransport) -> None:
    opened = root / "proc" / "20" / "fd"
    opened.mkdir()
    (opened / "3").symlink_to("socket:[77]")
    (opened / "4").write_text("")
    held = sockets.held_by((20, 1))
    reading = await transport.read(Request((Wanted("/proc/20/fd/"), Wanted("/proc/1/fd/"), held)))
    assert reading.text(held.path) == "20 socket:[77]\n"
    lines = reading.text("/proc/20/fd/").splitlines()
    assert sorted(lines) == sorted(["socket:[77]", str(opened / "4")])
    assert reading.files["/proc/1/fd/"] == Missing("no such file")


async def test_processes(transport: LocalTransport) -> None:
    reading = await transport.read(Request((), processes=True))
    assert reading.processes == {1: "1 (x) S\n", 20: "20 (x) S\n", 300: "300 (x) S\n"}
    assert reading.pids == {1, 20, 300}
    assert reading.own == {os.getpid()}


async def test_those_that_sleep_are_read_in_turns(root: Path, transport: LocalTransport) -> None:
    for pid in range(400, 400 + IDLE_EVERY):
        (root / "proc" / str(pid)).mkdir()
        (root / "proc" / str(pid) / "stat").write_text(f"{pid} (x) S\n")
    asleep = frozenset(range(400, 400 + IDLE_EVERY))
    read: list[int] = []
    for _ in range(IDLE_EVERY):
        reading = await transport.read(Request((), processes=True, asleep=asleep))
        assert not isinstance(reading.processes, Missing)
        assert reading.pids == {1, 20, 300, *asleep}
        assert reading.processes.keys() > {1, 20, 300}
        read += reading.processes.keys() & asleep
    assert sorted(read) == sorted(asleep)


async def test_proportional_memory_comes_with_a_later_reading(transport: LocalTransport) -> None:
    reading = await transport.read(Request((), processes=True, pss=(20, 300)))
    for _ in range(100):
        if reading.pss:
            break
        await asyncio.sleep(0.01)
        reading = await transport.read(Request((), processes=True))
    assert reading.pss == {20: "Pss: 5 kB\n", 300: Missing("no such file")}


async def test_waits_of_each_thread_are_read_where_the_process_did_something(
    root: Path, transport: LocalTransport
) -> None:
    for pid, task in ((20, 20), (300, 300), (300, 301), (300, 302)):
        (root / "proc" / str(pid) / "task" / str(task)).mkdir(parents=True)
        if task != 302:  # one that ends while they are read
            (root / "proc" / str(pid) / "task" / str(task) / "schedstat").write_text(f"9 {task} 1\n")
    request = Request((), processes=True, waits={1: 2, 20: 1, 300: 3, 400: 1})
    waits = (await transport.read(request)).waits
    assert {pid: sorted(text.splitlines()) for pid, text in waits.items()} == {
        1: [],
        20: ["20 9 20 1"],
        300: ["300 9 300 1", "301 9 301 1"],
    }
    assert (await transport.read(request)).waits == {20: "20 9 20 1\n"}, "one thread: little runs between two ticks"
    for task in range(301, 1000):
        (root / "proc" / "300" / "task" / str(task)).mkdir(exist_ok=True)
    for pid in (20, 300):
        (root / "proc" / str(pid) / "stat").write_text(f"{pid} (x) R\n")
    assert (await transport.read(request)).waits == {20: "20 9 20 1\n", 300: ""}, "300 has started many threads"
    assert (await transport.read(Request((), processes=True))).waits == {}
    assert (await transport.read(request)).waits.keys() == {1, 20, 300}


def test_a_name_that_cannot_be_encoded_is_unknown() -> None:
    assert host_names.resolved_here("a..b") == host_names.UNKNOWN


async def test_a_profiler_that_cannot_be_started(transport: LocalTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("asyncio.create_subprocess_exec", refuse)
    with pytest.raises(TransportError, match="cannot run sh: Resource temporarily unavailable"):
        await transport.profile([1])


async def test_a_sample_does_not_wait_for_a_resolver(
    transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answered = threading.Event(), threading.Event()

    def silent(*_: object) -> Missing:
        asked.set()
        answered.wait(2.0)
        return host_names.UNKNOWN

    machine = LinuxMachine(transport, KINDS)
    with monkeypatch.context() as patch:
        patch.setattr(local, "text_of", silent)
        names = asyncio.create_task(machine.texts((host_names.wanted("web1"),)))
        await asyncio.to_thread(asked.wait)
    await machine.sample()
    assert not names.done()
    answered.set()
    assert await names == {host_names.wanted("web1").path: host_names.UNKNOWN}


async def test_a_machine_without_proc_says_so(tmp_path: Path) -> None:
    transport = LocalTransport(root=str(tmp_path))
    with pytest.raises(TransportError, match="No such file"):
        await transport.read(Request((), processes=True))
    await transport.close()
