"""The two programs that read a remote host's files and processes, awk and perl: what they print of the same orders."""

import os
import re
import select
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Self

import pytest

from collectors.machine import IDLE_EVERY, NOT_REGULAR, Missing
from collectors.transport.shell import frames
from collectors.transport.shell.questions import ANSWER_BYTES
from tests.servers.program import find_program

WORD = "word"
IDLE, ACTIVE, THREADS, STRANGE = 10, 11, 12, 13
SHELL = 'while read -r order rest; do [ "$order" != q ] || exit; echo "did $order $rest"; echo >&0; done'
"""What stands for the shell beside perl: it ends at the order ``q``."""


def stat_of(pid: int, ticks: int, *, name: str = "httpd", state: str = "S", flags: int = 0) -> str:
    fields = [
        state,
        "1",
        *["0"] * 4,
        str(flags),
        *["0"] * 4,
        str(ticks),
        "0",
        "0",
        "0",
        "20",
        "0",
        "1",
        "0",
        "500",
        "9000",
        "77",
    ]
    return f"{pid} ({name}) {' '.join(fields)} {' '.join(['5'] * 30)}\n"


def _read(stream: IO[str], end: str) -> str:
    text = ""
    while not text.endswith(end):
        line = stream.readline()
        assert line, "it has ended"
        text += line
    return text


class Fake:
    """A directory in the place of /proc, and a program that reads it."""

    def __init__(self, root: Path, program: str) -> None:
        self.root = root
        self.is_perl = program == "perl"
        self._turn = 0
        awk, perl = frames.reading_programs()
        found = find_program("perl" if self.is_perl else "mawk", install="apt-get install perl mawk")
        command = [found, "-e", perl, SHELL] if self.is_perl else [found, "-W", "interactive", "-v", "lines=1", awk]
        self._program = subprocess.Popen(
            command,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        if not self.is_perl:
            self._print(WORD)

    def _print(self, line: str) -> None:
        assert self._program.stdin is not None
        print(line, file=self._program.stdin, flush=True)

    def _send(self, line: str) -> None:
        """awk also passes on what the shell prints, and knows orders by their first word."""
        self._print(line if self.is_perl else f"{WORD} {line}")

    def process(self, pid: int, stat: str, waits: dict[int, str]) -> None:
        directory = self.root / str(pid)
        directory.mkdir(exist_ok=True)
        (directory / "stat").write_text(stat)
        (directory / "schedstat").write_text(waits.get(pid, ""))
        for task, text in waits.items():
            (directory / "task" / str(task)).mkdir(parents=True, exist_ok=True)
            (directory / "task" / str(task) / "schedstat").write_text(text)

    def order(self, *lines: str) -> None:
        for line in lines:
            self._send(line)

    def sample(self, *more: str, also: str = "") -> dict[str, str]:
        """Each part of a frame by its mark: ``f NAME``, ``! NAME``, or ``=`` for the processes with nothing new."""
        self._turn += 1
        mark = f"mark{self._turn}m"
        if not self.is_perl:
            pids = sorted(path.name for path in self.root.iterdir() if path.name.isdecimal())
            self._send(f"l {' '.join(pids)}")
        self.order(" ".join(("s", mark, *more)), *([also] if also else []), f"m {mark}.")
        text = self.printed(f"\n#{mark}.\n")
        parts = {name: told.strip() for name, told in frames.told_of(text.split(f"\n#{mark}")[1:-1]).items()}
        parts["="] = " ".join(sorted(parts["="].split(), key=int))
        # perl prints the list of processes when it changes, awk when it receives one
        return {name: told for name, told in parts.items() if name not in ("", "l")}

    def printed(self, end: str) -> str:
        """What comes, up to that."""
        assert self._program.stdout is not None
        return _read(self._program.stdout, end)

    def beside(self, end: str) -> str:
        """What comes on the other stream, up to that."""
        assert self._program.stderr is not None
        return _read(self._program.stderr, end)

    def children(self) -> list[str]:
        pid = self._program.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def opened_by_children(self) -> list[str]:
        found: list[str] = []
        for child in self.children():
            with suppress(OSError):  # it has ended
                found += [str(each.readlink()) for each in Path(f"/proc/{child}/fd").iterdir()]
        return found

    def opened(self) -> list[str]:
        return [str(each.readlink()) for each in Path(f"/proc/{self._program.pid}/fd").iterdir()]

    def has_answered(self) -> bool:
        assert self._program.stdout is not None
        return bool(select.select([self._program.stdout], [], [], 0)[0])

    def wait_for_child(self, number: int = 0) -> None:
        """Wait until the only child has ended, perhaps by a signal. It is not reaped by that; one that needs no signal
        may have been, by the last order."""
        children = self.children()
        if not children and not number:
            return
        (child,) = map(int, children)
        descriptor = os.pidfd_open(child)
        if number:
            os.kill(child, number)
        select.select([descriptor], [], [])
        os.close(descriptor)

    def close(self) -> None:
        for stream in (self._program.stdin, self._program.stdout, self._program.stderr):
            assert stream is not None
            stream.close()
        self._program.wait(10)


@pytest.fixture(params=["perl", "awk"])
def fake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fake]:
    (tmp_path / "stat").write_text("processes 1\n")
    found = Fake(tmp_path, request.param)
    found.process(IDLE, stat_of(IDLE, 1), {IDLE: "100 5 1\n"})
    found.process(ACTIVE, stat_of(ACTIVE, 1), {ACTIVE: "100 5 1\n"})
    found.process(THREADS, stat_of(THREADS, 1), {THREADS: "100 5 1\n", 20: "100 7 1\n"})
    found.process(STRANGE, stat_of(STRANGE, 1, name="a) S (b"), {})
    tasks = (f"{IDLE}/task/{IDLE}", f"{ACTIVE}/task/{ACTIVE}")
    threads = (f"{THREADS}/task/[0-9]*",) if found.is_perl else (f"{THREADS}/task/{THREADS}", f"{THREADS}/task/20")
    found.order(f"t {' '.join((*tasks, *threads))}")
    yield found
    found.close()


def told(pid: int, ticks: int, *, name: str = "httpd") -> str:
    """What is left of the stat of a process: the numbers that are read of it."""
    fields = ["S", "1", *["0"] * 9, str(ticks), "0", "0", "0", "0", "0", "1", "0", "500", "0", "77", "0"]
    return f"{pid} ({name}) {' '.join(fields)}"


def test_at_first_everything_is_told(fake: Fake) -> None:
    found = fake.sample()
    assert found["f 10/stat"] == told(IDLE, 1)
    assert found["f 13/stat"] == told(STRANGE, 1, name="a) S (b")
    assert found["f 11/schedstat"] == "11 100 5 1"
    assert sorted(found["f 12/schedstat"].splitlines()) == ["12 100 5 1", "20 100 7 1"]
    assert found["="] == ""


def test_perl_tells_with_the_next_sample_where_threads_wait(fake: Fake) -> None:
    if not fake.is_perl:
        return  # awk reads ordinary files for that
    for pid, wchan in ((IDLE, "ep_poll"), (ACTIVE, "hrtimer_nanosleep"), (THREADS, "folio_wait_bit_common")):
        directory = fake.root / str(pid) / "task" / str(pid)
        (directory / "wchan").write_text(wchan)
        (directory / "syscall").write_text("232 0x4 0x1\n")
        (directory / "stat").write_text("7 (a) D) D 1 2 3\n")
    threads = [f"{pid}/task/{pid}" for pid in (IDLE, ACTIVE, THREADS, 99)]
    brief = f"{IDLE} {threads[1]} {THREADS} 99"
    assert not any("wchan" in part for part in fake.sample(also=f"W {brief}"))
    found = fake.sample(also="W")
    assert {part: text for part, text in found.items() if "wchan" in part} == {
        f"f {threads[0]}/wchan": "ep_poll 232 0x4 0x1",
        f"f {threads[1]}/wchan": "hrtimer_nanosleep",
        f"f {threads[2]}/wchan": "folio_wait_bit_common D",
    }
    assert not any("wchan" in part for part in fake.sample(also="W"))


def test_perl_tells_ticks_later_of_one_that_has_hardly_run_unless_someone_waits_for_a_disk(fake: Fake) -> None:
    if not fake.is_perl:
        return  # awk knows how long a process has run by its ticks alone
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    fake.sample()
    turns = 2 * IDLE_EVERY

    def ran(number: int, each_ns: int, blocked: int) -> list[str]:
        """Which parts tell of the process in so many samples, in each of which it has run for so long."""
        (fake.root / "stat").write_text(f"processes 1\nprocs_blocked {blocked}\n")
        found: list[str] = []
        for turn in range(turns):
            run_ns = 1_000_000_000 * number + turn * each_ns
            fake.process(ACTIVE, stat_of(ACTIVE, 1000 * number + turn), {ACTIVE: f"{run_ns} 5 {turn}\n"})
            found += [name for name in fake.sample() if name.startswith("f 11/")]
        return found

    assert ran(1, 100_000, 0).count("f 11/stat") <= 5, "at once, as it had run for long, and then in turn"
    assert ran(2, 11_000_000, 0).count("f 11/stat") >= turns - 1, "the first of them can be one of two"
    told = ran(3, 100_000, 1)
    assert told.count("f 11/stat") == told.count("f 11/schedstat") == turns


def test_perl_reads_with_every_second_sample_what_hardly_runs(fake: Fake) -> None:
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    turns, rows = 2 * IDLE_EVERY, list[list[bool]]()
    for turn in range(2 * turns):
        for pid in (IDLE, ACTIVE):
            fake.process(pid, stat_of(pid, 1), {pid: f"{1_000_000_000 + turn * 10_000} 5 {turn}\n"})
        found = fake.sample()
        text = "\n".join((found.get("t", ""), found.get("f 10/schedstat", ""), found.get("f 11/schedstat", "")))
        rows.append([f"{pid} " in text for pid in (IDLE, ACTIVE)])
    assert all(map(any, rows[turns:])), "one with this sample, the other with the next"
    for row in zip(*rows[turns:], strict=True):
        assert sum(row) <= turns // 2 + 1, "once more after it was read as a whole"


def test_perl_tells_proportional_memory_beside_everything_else(fake: Fake) -> None:
    if not fake.is_perl:
        return  # the shell starts a program for it
    (fake.root / str(IDLE) / "smaps_rollup").write_text("Pss: 12 kB\n")
    (fake.root / str(ACTIVE) / "smaps_rollup").write_text("")
    fake.order(f"b m5 {IDLE} {ACTIVE} 99", "m m6.")
    fake.printed("\n#m6.\n")
    fake.wait_for_child()
    fake.sample()
    text = fake.beside("\n#m5.\n")
    assert text.startswith("\n#m5\n")
    assert frames.parse_pss(text.removeprefix("\n#m5\n").removesuffix("\n#m5.\n")) == {
        IDLE: "Pss: 12 kB\n",
        ACTIVE: "",
        99: Missing("no such file"),
    }


def test_perl_gives_up_memory_that_holds_it_up(fake: Fake) -> None:
    if not fake.is_perl:
        return
    os.mkfifo(fake.root / str(IDLE) / "smaps_rollup")
    fake.order(f"b m5 {IDLE}")
    fake.sample()
    fake.wait_for_child(signal.SIGALRM)  # which comes after 4 s
    fake.sample()
    assert fake.children() == []
    text = fake.beside("\n#m5.\n").removeprefix("\n#m5\n").removesuffix("\n#m5.\n")
    assert frames.parse_pss(text) == {}


@pytest.mark.parametrize(("change", "told"), [("state", 2 * IDLE_EVERY), ("child", 2 * IDLE_EVERY), ("", 5)])
def test_perl_tells_at_once_of_one_that_was_not_asleep_or_starts_others(fake: Fake, change: str, told: int) -> None:
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    found: list[str] = []
    for turn in range(2 * IDLE_EVERY):
        stat = stat_of(ACTIVE, turn, state="D" if change == "state" else "S")
        stat = stat.replace(f" {turn} 0 0 0 20 ", f" {turn} 0 7 0 20 ") if change == "child" else stat
        fake.process(ACTIVE, stat, {ACTIVE: f"{1_000_000_000 + turn} 5 {turn}\n"})
        found += [name for name in fake.sample() if name == "f 11/stat"]
    assert len(found) == told


def test_perl_soon_reads_a_process_that_has_started_threads(fake: Fake) -> None:
    """They do the work, while the first hardly runs."""
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    told: list[int] = []
    for turn in range(4 * IDLE_EVERY):
        threads = {ACTIVE: f"{1_000_000_000 + turn} 5 {turn}\n"} | (
            {14: "7 7 7\n"} if turn >= 3 * IDLE_EVERY else dict[int, str]()
        )
        fake.process(ACTIVE, stat_of(ACTIVE, turn), threads)
        told += [turn for name in fake.sample() if name == "f 11/stat"]
    assert len([turn for turn in told if turn in range(IDLE_EVERY, 3 * IDLE_EVERY)]) == 1
    assert len([turn for turn in told if turn >= 3 * IDLE_EVERY]) == IDLE_EVERY // 10


def test_perl_passes_rare_orders_to_a_shell_and_starts_another_where_that_ends(fake: Fake) -> None:
    if not fake.is_perl:
        return  # there the shell itself takes the orders
    fake.order("m m5", "j 80", "U x", "y 1 2", "m m5.")
    text = fake.printed("\n#m5.\n")
    uptime = Path("/proc/uptime").read_text().split()[0]
    assert text.startswith("\n#m5\ndid j 80\n\n#x\n==> /proc/uptime <==\n")
    assert text.endswith("\ndid y 1 2\n\n#m5.\n")
    assert float(text.split("<==\n")[1].split()[0]) <= float(uptime)
    fake.wait_for_child(signal.SIGKILL)
    fake.order("m m6", "j 81", "m m6.")
    assert fake.printed("\n#m6.\n") == "\n#m6\ndid j 81\n\n#m6.\n"
    fake.order("q")
    assert fake.beside("ended\n").endswith("the shell beside it ended\n")


class Answering:
    """A server at a TCP port of this machine, which does one of these things with each connection."""

    def __init__(self, address: str, does: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(
            (address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET
        )
        self._does = does
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            self._does(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # if no client came, this one ends the wait for it
            socket.create_connection(self._listener.getsockname()[:2]).close()
        self._thread.join()
        self._listener.close()


def answers(text: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        heard = b""
        while not heard.endswith(b"?") and (more := connection.recv(1000)):
            heard += more
        connection.sendall(heard + text)

    return answer


def asked(fake: Fake, place: str, order: str = "Q") -> str:
    """What perl tells of the answer of a server to a question, in a sample."""
    fake.order(f"{order} 5 {place} {b'who?'.hex()}", "s m5", "A m5", "m m5.")
    before, found, told = fake.printed("\n#m5.\n").removesuffix("\n#m5.\n").rpartition("\n#m5=\n")
    assert before.startswith("\n#m5\n")
    assert found
    return re.sub(r"^(. 5) [1-9]\d*\n", r"\1 MS\n", told.partition("\n\n#m5")[2])


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may be busy."""
    monkeypatch.setattr(frames, "ANSWER_S", 10.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize(
    ("text", "told"), [(b": a\n#b\n", "a 5 MS\nwho?: a\n#b\n"), (b"\xff\0", "x 5 MS\n77686f3fff00")]
)
def test_perl_asks_a_server_and_tells_its_answer(fake: Fake, address: str, text: bytes, told: str) -> None:
    if not fake.is_perl:
        return  # then it is asked through the connection
    with Answering(address, answers(text)) as server:
        ipv6 = f"00000000{'00' * 15}0100000000"
        place = f"10 {server.port:04x}{ipv6}" if ":" in address else f"2 {server.port:04x}7f0000010000000000000000"
        assert asked(fake, place) == told


def silent(connection: socket.socket) -> None:
    """Until perl gives up."""
    connection.recv(9)
    select.select([connection], [], [])


def unfinished(connection: socket.socket) -> None:
    connection.sendall(b"who are you? ")
    silent(connection)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def empty(connection: socket.socket) -> None:
    connection.recv(9)


@pytest.mark.usefixtures("patient")
def test_perl_tells_nothing_of_who_says_too_much(fake: Fake) -> None:
    if not fake.is_perl:
        return
    with Answering("127.0.0.1", answers(ANSWER_BYTES * b"x")) as server:
        assert asked(fake, f"2 {server.port:04x}7f0000010000000000000000") == ""


@pytest.mark.parametrize("does", [silent, unfinished, reset, empty])
def test_perl_tells_nothing_of_who_does_not_answer_at_once(fake: Fake, does: Callable[[socket.socket], None]) -> None:
    if not fake.is_perl:
        return

    def anyhow(connection: socket.socket) -> None:
        with suppress(OSError):
            does(connection)

    with Answering("127.0.0.1", anyhow) as server:
        assert asked(fake, f"2 {server.port:04x}7f0000010000000000000000") == ""
    assert asked(fake, f"2 {server.port:04x}7f0000010000000000000000") == "", "refused"


@pytest.mark.usefixtures("patient")
def test_perl_asks_again_on_a_connection_that_stays_open(fake: Fake) -> None:
    if not fake.is_perl:
        return
    said = ["$4\r\n+?\r\n\r\n:12\r\n", "-ERR no\r\n+OK\r\n"]

    def answer(connection: socket.socket) -> None:
        for text in said:
            assert connection.recv(9) == b"who?"
            for part in text[:5], text[5:]:
                connection.sendall(part.encode())

    with Answering("127.0.0.1", answer) as server:
        place = f"2 {server.port:04x}7f0000010000000000000000"
        assert [asked(fake, place, "R 2") for _ in said] == ["a 5 MS\n$4\n+?\n\n:12\n", "a 5 MS\n-ERR no\n+OK\n"]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("more", [b"", b":3\r\n"])
def test_perl_connects_again_where_a_connection_was_closed_or_has_told_too_much(fake: Fake, more: bytes) -> None:
    if not fake.is_perl:
        return
    with ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        place = f"2 {listener.getsockname()[1]:04x}7f0000010000000000000000"
        for number in (1, 2):
            fake.order(f"R 2 5 {place} {b'who?'.hex()}")
            connection = opened.enter_context(listener.accept()[0])
            connection.sendall(b":%d\r\n+OK\r\n" % number)
            fake.order("s m5", "A m5", "m m5.")
            assert f"\n:{number}\n+OK\n" in fake.printed("\n#m5.\n")
            if more:
                connection.sendall(more)
            else:
                connection.close()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "said", ["", "+OK\r\n", "+OK\r\n:1", "$9\r\n+OK\r\n", "$x\r\n", "$99999999\r\n+OK\r\n", "no\r\n:1\r\n"]
)
def test_perl_tells_of_who_sends_something_else_when_it_closes_the_connection(fake: Fake, said: str) -> None:
    if not fake.is_perl:
        return

    def answer(connection: socket.socket) -> None:
        connection.recv(9)
        connection.sendall(said.encode())

    with Answering("127.0.0.1", answer) as server:
        told = asked(fake, f"2 {server.port:04x}7f0000010000000000000000", "R 2")
    assert told == (f"a 5 MS\n{said}".replace("\r\n", "\n") if said else "")


def test_perl_asks_at_a_unix_socket(fake: Fake, tmp_path: Path) -> None:
    if not fake.is_perl:
        return
    path = tmp_path / "socket"
    assert asked(fake, f"1 {bytes(path).hex()}00") == "", "there is none"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(bytes(path))
        listener.listen(1)
        listener.settimeout(20)
        fake.order(f"Q 5 1 {bytes(path).hex()}00 {b'who?'.hex()}")
        with listener.accept()[0] as connection:
            answers(b" it")(connection)
        fake.order("s m6", "A m6", "m m6.")
        assert re.search(r"\n#m6a 5 [1-9]\d*\nwho\? it\n#m6\.\n", fake.printed("\n#m6.\n"))


def test_perl_prints_files_of_the_kernel_as_head_does(fake: Fake) -> None:
    if not fake.is_perl:
        return
    names = ("/dev/null", "/proc/net/none", "/proc/sys", "/proc/version", "/proc/filesystems")
    fake.order("m m5", f"h 100 {' '.join(names)}", "m m5.")
    text = fake.printed("\n#m5.\n")
    assert frames.parse_looked(text.removeprefix("\n#m5\n").removesuffix("\n#m5.\n")) == {
        "/dev/null": "",
        "/proc/net/none": Missing("no such file"),
        "/proc/sys": Missing("is a directory"),
        "/proc/version": Path("/proc/version").read_text()[:100],
        "/proc/filesystems": Path("/proc/filesystems").read_text()[:100],
    }
    fake.order("m m6", f"h 100 /proc/{os.getpid()}/cmdline /proc/version", "m m6.")
    found = frames.parse_looked(fake.printed("\n#m6.\n").removesuffix("\n#m6.\n"))
    assert list(found) == [f"/proc/{os.getpid()}/cmdline", "/proc/version"]


def test_perl_opens_no_pipe_in_the_place_of_a_regular_file(fake: Fake) -> None:
    if not fake.is_perl:
        return  # the shell does that
    pipe, file = (fake.root / name for name in ("pipe", "file"))
    file.write_text("text\n")
    os.mkfifo(pipe)
    fake.order("m m5", f"c 100 {pipe} {file}", "m m5.")
    text = fake.printed("\n#m5.\n").removeprefix("\n#m5\n").removesuffix("\n#m5.\n")
    assert frames.parse_looked(text) == {"/dev/null": "", str(pipe): NOT_REGULAR, str(file): "text\n"}


def test_perl_gives_up_a_file_that_holds_it_up(fake: Fake) -> None:
    """Files read before it are still told, also large ones. It is played by a pipe: for the kernel's files, nothing is
    checked."""
    if not fake.is_perl:
        return  # the shell does that
    file, pipe, last = (fake.root / name for name in ("file", "pipe", "last"))
    file.write_text("x" * 200_000)
    os.mkfifo(pipe)
    last.write_text("")
    with os.fdopen(os.open(pipe, os.O_RDWR)):  # so that reading waits, not opening
        fake.order("m m5", f"h 300000 {file} {pipe} {last}", "m m5.")
        while str(pipe) not in fake.opened_by_children() and not fake.has_answered():
            pass
        if not fake.has_answered():
            fake.wait_for_child(signal.SIGALRM)  # which comes after 2 s
        text = fake.printed("\n#m5.\n").removeprefix("\n#m5\n").removesuffix("\n#m5.\n")
    assert frames.parse_looked(text) == {str(file): "x" * 200_000}
    assert fake.children() == []


def test_then_only_what_has_changed(fake: Fake) -> None:
    fake.sample()
    assert fake.sample() == {"=": "10 11 12 13"}
    fake.process(ACTIVE, stat_of(ACTIVE, 3), {ACTIVE: "300 5 2\n"})
    fake.process(THREADS, stat_of(THREADS, 4), {THREADS: "100 5 1\n", 20: "400 9 2\n"})
    changed = fake.sample()
    assert changed["f 11/stat"] == told(ACTIVE, 3)
    assert changed["f 11/schedstat"] == "11 300 5 2"
    assert sorted(changed["f 12/schedstat"].splitlines()) == ["12 100 5 1", "20 400 9 2"]
    assert changed["="] == "10 13"
    assert fake.sample() == {"=": "10 11 12 13"}


def test_what_was_not_heard_is_told_again(fake: Fake) -> None:
    first = fake.sample()
    fake.order("n")
    assert fake.sample() == first


def test_one_that_has_ended_is_missing_and_then_gone(fake: Fake) -> None:
    fake.sample()
    for name in ("stat", "schedstat", "task/11/schedstat"):
        (fake.root / "11" / name).write_text("")  # as good as an error, which a program gets who has it open
    assert "! 11/stat" in fake.sample()


def test_a_new_one_is_told_at_once(fake: Fake) -> None:
    fake.sample()
    fake.process(30, stat_of(30, 1), {})
    (fake.root / "stat").write_text("processes 2\n")
    assert fake.sample() == {"f 30/stat": told(30, 1), "=": "10 11 12 13"}


def test_processes_that_sleep_are_read_in_turns(fake: Fake) -> None:
    fake.sample()
    fake.order(f"z {STRANGE}")
    read = ["13" in fake.sample()["="].split() for _ in range(IDLE_EVERY)]
    assert read.count(True) == 1
    fake.order(f"w {STRANGE}")
    assert "13" in fake.sample()["="].split()


def test_perl_reads_one_without_measured_waits_less_often_too(fake: Fake) -> None:
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    fake.process(STRANGE, stat_of(STRANGE, 1), {STRANGE: "1000000000 5 1\n"})
    for _ in range(2 * IDLE_EVERY):
        assert "f 13/schedstat" not in fake.sample()
    fake.process(STRANGE, stat_of(STRANGE, 2, name="nginx"), {STRANGE: "1004000000 5 2\n"})
    found = [fake.sample().get("f 13/stat") for _ in range(IDLE_EVERY)]
    assert found.count(told(STRANGE, 2, name="nginx")) == 1, "it has run for less than a tick"
    fake.process(STRANGE, stat_of(STRANGE, 3), {STRANGE: "1014000000 5 3\n"})
    assert told(STRANGE, 3) in [fake.sample().get("f 13/stat") for _ in range(2)]
    fake.process(STRANGE, stat_of(STRANGE, 4, name="nginx"), {STRANGE: "1016000000 5 3\n"})
    assert "13" in fake.sample()["="].split()
    fake.order(f"w {STRANGE}")
    assert fake.sample()["f 13/stat"] == told(STRANGE, 4, name="nginx"), "its time is looked for"


def test_perl_reads_the_whole_stat_of_a_thread_of_the_kernel_only_when_it_has_run(fake: Fake) -> None:
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    for pid, flags in ((1000, 0x40), (1001, 0x208040)):
        fake.process(pid, stat_of(pid, 1, flags=flags), {pid: "1000000000 5 1\n"})
    for _ in range(2):
        fake.sample()
    for pid, flags in ((1000, 0x40), (1001, 0x208040)):  # the kernel counts ticks and nanoseconds
        fake.process(pid, stat_of(pid, 2, flags=flags), {pid: "1000000000 5 1\n"})
    seen = [fake.sample() for _ in range(IDLE_EVERY)]
    assert [any(f"f {pid}/stat" in found for found in seen) for pid in (1000, 1001)] == [True, False]
    fake.process(1001, stat_of(1001, 3, flags=0x208040), {1001: "1011000000 5 1\n"})
    assert any("f 1001/stat" in fake.sample() for _ in range(2))


def test_perl_keeps_room_for_the_open_files_of_servers(fake: Fake) -> None:
    if not fake.is_perl:
        return
    (fake.root / "stat").write_text("processes 1\nprocs_blocked 0\n")
    servers = range(5000, 5100)
    for pid in (*range(1000, 1600), *servers):
        fake.process(pid, stat_of(pid, 1), {pid: f"{pid} 5 1\n"})
    fake.order(f"t {' '.join(f'{pid}/task/{pid}' for pid in servers)}")
    for _ in range(3):
        fake.sample()
    opened = fake.opened()
    assert all(str(fake.root / str(pid) / name) in opened for pid in servers for name in ("stat", "schedstat"))


def test_files_with_only_the_lines_that_are_wanted(fake: Fake) -> None:
    file, other = fake.root / "file", fake.root / "other"
    file.write_text("one 1\ntwo 2\nthree 3\n")
    other.write_text("other\n")
    fake.order(f"g {file} ^(one|three)", f"f {file}")
    first = fake.sample(str(other))
    assert first[f"f {file}"] == "one 1\nthree 3"
    assert first[f"f {other}"] == "other"
    file.write_text("one 1\ntwo 3\nthree 3\n")
    assert f"f {file}" not in fake.sample()
    file.unlink()
    assert f"! {file}" in fake.sample()


@pytest.mark.parametrize(("name", "every"), [("memory.max", 5), ("memory.current", 1)])
def test_perl_reads_settings_less_often(fake: Fake, name: str, every: int) -> None:
    file = fake.root / name
    file.write_text("max\n")
    fake.order(f"f {file}")
    assert fake.sample()[f"f {file}"] == "max"
    told: list[str] = []
    for number in range(10):
        file.write_text(f"{number}\n")
        told.append(fake.sample().get(f"f {file}", ""))
    assert len(list(filter(None, told))) == 10 // (every if fake.is_perl else 1)


def test_threads_that_are_wanted_later_are_told_at_once(fake: Fake) -> None:
    fake.process(30, stat_of(30, 1), {30: "100 5 1\n", 31: "100 6 1\n"})
    fake.sample()
    fake.order("t 30/task/[0-9]*" if fake.is_perl else "t 30/task/30 30/task/31")
    assert sorted(fake.sample()["f 30/schedstat"].splitlines()) == ["30 100 5 1", "31 100 6 1"]
