"""Orders for a far shell and the frames that come back, as texts."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors import host_names as names
from collectors.errors import TransportError
from collectors.linux.sockets import LISTENERS, OPEN_TABLES, TABLES, holders, parse_holders
from collectors.machine import Missing, Request, Wanted
from collectors.transport.shell import frames

GNU = """==> /dev/null <==

==> /proc/uptime <==
100.25 50.00
head: cannot open '/proc/none' for reading: No such file or directory
head: cannot open '/proc/1/mem x' for reading: Permission denied

==> /proc/loadavg <==
0.07 0.10 0.12 1/97 123

==> /sys/class/net/lo/speed <==
head: error reading '/sys/class/net/lo/speed': Invalid argument
"""
BUSYBOX = """==> /dev/null <==

==> /proc/uptime <==
100.25 50.00
head: /proc/none: No such file or directory

==> /proc/loadavg <==
0.07
"""
FILES = tuple(map(Wanted, ("/proc/loadavg", "/proc/none", "/sys/class/net/lo/speed", "/sys/block/", "/a b", LISTENERS)))
FRAME = (
    "\n#markf /proc/uptime\n100.25 50.00\n"
    "\n#markf /proc/loadavg\n0.07 0.10 0.12 1/97 123\n"
    "\n#mark! /proc/none"
    "\n#mark! /sys/class/net/lo/speed"
    "\n#markl\n1 20 300"
    "\n#markf 1/stat\n1 (init) S 0 1\n"
    "\n#markf 20/stat\n20 (a\n#b) S 1\n"
    "\n#mark! 300/stat"
    "\n#markd /sys/block/\ntotal 0\nlrwxrwxrwx 1 root root 0 Jan 1 vda -> ../devices/vda\n"
    "\n#markq\nLISTEN 0 5 127.0.0.1:80 0.0.0.0:*\n"
)
ASKED = Request(FILES, processes=True)


def test_a_frame_of_everything() -> None:
    texts, unexplained = frames.parse_frame(
        FRAME, "mark", ASKED, frames.Kept(instead={"/sys/class/net/lo/speed": Missing("invalid argument")})
    )
    assert texts.at == 100.25
    assert texts.files == {
        "/proc/loadavg": "0.07 0.10 0.12 1/97 123\n",
        "/proc/none": Missing("no such file"),
        "/sys/class/net/lo/speed": Missing("invalid argument"),
        "/sys/block/": "../devices/vda\n",
        "/a b": Missing("not available there"),
        LISTENERS: "LISTEN 0 5 127.0.0.1:80 0.0.0.0:*\n",
    }
    assert unexplained == ["/proc/none"]
    assert texts.pids == {1, 20, 300}
    assert texts.processes == {1: "1 (init) S 0 1\n", 20: "20 (a\n#b) S 1\n"}


def test_unchanged_parts_are_not_sent_again() -> None:
    kept = frames.Kept()
    frames.parse_frame(FRAME, "mark", ASKED, kept)
    frame = "\n#m2f /proc/uptime\n101.25 50.00\n\n#m2f 1/stat\n1 (init) R 0 1\n\n#m2=\n 20"
    texts, unexplained = frames.parse_frame(frame, "m2", ASKED, kept)
    assert (texts.at, texts.files["/proc/loadavg"]) == (101.25, "0.07 0.10 0.12 1/97 123\n")
    assert texts.pids == {1, 20, 300}
    assert texts.processes == {1: "1 (init) R 0 1\n", 20: "20 (a\n#b) S 1\n"}
    texts, unexplained = frames.parse_frame(
        "\n#m3f /proc/uptime\n102.25 5.0\n\n#m3l\n1\n#m3! /proc/loadavg\n#m3=\n 20", "m3", ASKED, kept
    )
    assert texts.pids == {1}
    assert not texts.processes
    assert unexplained == ["/proc/loadavg"]


def test_waits_are_asked_for_when_they_change_and_come_whole() -> None:
    orders, pids = frames.Orders(), frozenset((1, 20))
    asked = Request((), processes=True, waits={1: 1, 20: 5})
    assert "t 1/task/1 20/task/[0-9]*\n" in orders.sample(asked, pids, "m1", sockets=False, queues="")
    assert "t 1" not in orders.sample(asked, pids, "m2", sockets=False, queues="")
    assert "t \n" in orders.sample(Request((), processes=True), pids, "m3", sockets=False, queues="")
    frame = (
        "\n#m1f /proc/uptime\n1.25 5.0\n\n#m1f 20/schedstat\n20 9 8 1\n21 9 8 1\n\n#m1f 3/schedstat\n3 9 8 1\n\n#m1=\n"
    )
    reading, _ = frames.parse_frame(frame, "m1", asked, frames.Kept())
    assert reading.waits == {20: "20 9 8 1\n21 9 8 1\n"}


def test_perl_tells_of_processes_with_one_thread_together() -> None:
    asked = Request((), processes=True, waits={1: 1, 20: 1})
    threads = "20\tep_poll 232 0x4\tdo_wait\n20/task/21\t0\n\n999999999999\t0\nx\ty\n"
    frame = f"\n#m1f /proc/uptime\n1.25 5.0\n\n#m1t\n20 9 8 1\n3 9 8 1\n\n\xff\n#m1=\n\n#m1w\n{threads}"
    reading, _ = frames.parse_frame(frame, "m1", asked, frames.Kept())
    assert reading.waits == {20: "20 9 8 1\n"}
    assert reading.wchan == {"20/task/20": "ep_poll 232 0x4\ndo_wait", "20/task/21": "0"}


def test_numbers_that_are_not_pids_are_skipped() -> None:
    frame = f"\n#m1f /proc/uptime\n1.25 5.0\n\n#m1l\n1 -2 x {'9' * 5000} 20\n#m1=\n 20 {'9' * 5000} 3/stat"
    texts, _ = frames.parse_frame(frame, "m1", ASKED, frames.Kept(stats={20: "20 (a) S 1\n"}))
    assert texts.pids == {1, 20}
    assert texts.processes == {20: "20 (a) S 1\n"}


def test_a_file_that_can_be_read_again_has_no_reason_any_more() -> None:
    kept = frames.Kept(instead={"/proc/none": Missing("not permitted")})
    frames.parse_frame("\n#m1f /proc/uptime\n1.25 5.0\n\n#m1f /proc/none\nx\n", "m1", ASKED, kept)
    _, unexplained = frames.parse_frame("\n#m2f /proc/uptime\n2.25 5.0\n\n#m2! /proc/none", "m2", ASKED, kept)
    assert unexplained == ["/proc/none"]
    assert frames.second_look(unexplained, "m3") == "m m3\nh 1048576 /dev/null /proc/none\nm m3.\n"


def test_names_are_requested_and_resolved() -> None:
    wanted = [names.wanted(name) for name in ("web1.example", "none", "-x;y")]
    orders = frames.Orders().sample(Request(tuple(wanted)), frozenset(), "m7", sockets=False, queues="")
    assert "m m7r\nr web1.example none\n" in orders
    printed = "name web1.example\n10.0.0.1 STREAM web1\n10.0.0.1 DGRAM\n::1 STREAM\nname none\nsh: getent: not found\n"
    frame = f"==> /proc/uptime <==\n100.25 50.00\n\n#m7r\n{printed}"
    texts, _ = frames.parse_frame(frame, "m7", Request(tuple(wanted)), frames.Kept())
    found = [texts.files[each.path] for each in wanted]
    assert found == ["10.0.0.1\n::1\n", names.UNKNOWN, Missing("not available there")]


def test_who_holds_sockets_is_asked_for_and_answered() -> None:
    wanted = holders((71, 72))
    request = Request((wanted,))
    assert "o 71 72\n" in frames.Orders().sample(request, frozenset(), "m7", sockets=False, queues="")
    frame = f"==> /proc/uptime <==\n100.25 50.00\n\n#m7d {wanted.path}\n20 socket:[71]\nx socket:[72]\n3 socket:[\n"
    texts, _ = frames.parse_frame(frame, "m7", request, frames.Kept())
    assert parse_holders(texts.files[wanted.path]) == {71: {20}}


def test_open_sockets_are_requested_and_returned() -> None:
    wanted = OPEN_TABLES[0]
    request = Request((wanted,))
    orders = frames.Orders().sample(request, frozenset(), "m7", sockets=False, queues="")
    assert f"v {wanted.limit} /proc/net/tcp\n" in orders
    both = frames.Orders().sample(Request(OPEN_TABLES), frozenset(), "m7", sockets=False, queues="perl")
    assert f"e 2 {wanted.limit} - m7d {wanted.path}\ne 10 {wanted.limit} - m7d {OPEN_TABLES[1].path}\n" in both
    frame = f"==> /proc/uptime <==\n100.25 50.00\n\n#m7d {wanted.path}\n  sl  local_address\n   0: 0100007F:1F90\n"
    texts, _ = frames.parse_frame(frame, "m7", request, frames.Kept())
    assert texts.files[wanted.path] == "  sl  local_address\n   0: 0100007F:1F90\n"


def test_busybox_prints_the_same_in_its_own_words() -> None:
    assert frames.parse_files(BUSYBOX)["/proc/none"] == Missing("no such file")
    assert frames.parse_files(BUSYBOX)["/proc/uptime"] == "100.25 50.00\n"


def test_a_name_cannot_pass_for_another_process() -> None:
    frame = FRAME.replace("20 (a\n#b) S 1", "20 (a\n1 (b) S 0\n#markup f 3/stat\n) S 1")
    texts, _ = frames.parse_frame(frame.replace("#markup", "#Mark"), "mark", ASKED, frames.Kept())
    assert not isinstance(texts.processes, Missing)
    assert texts.processes.keys() == {1, 20}


@pytest.mark.parametrize("garbage", ["", "\x1b[2J\x1b]0;x\x07", "sh: head: not found\n", "==> /proc/uptime <==\nx\n"])
def test_anything_but_a_frame_is_reported(garbage: str) -> None:
    with pytest.raises(TransportError, match="cannot parse its response") as error:
        frames.parse_frame(garbage, "mark", Request(FILES), frames.Kept())
    assert str(error.value).isprintable()


def test_a_banner_and_late_answers_stand_before_the_frame() -> None:
    late = "\n#abc1\nold\n\n#abc1.\n"
    assert frames.cut_out(f"Welcome!\x1b[31m\n{late}\n#abc2\nnew\n".encode(), "abc2") == "new\n"
    with pytest.raises(TransportError, match="other than"):
        frames.cut_out(late.encode(), "abc2")


def test_the_status_of_the_shell() -> None:
    assert frames.parse_remote("77 4096 /usr/bin/ss\n").page_kb == 4
    assert frames.parse_remote("77 65536 \n").page_kb == 64
    assert frames.parse_remote("77 4096 perl /usr/bin/ss\n").queues == "perl"
    assert frames.parse_remote("77 4096  /bin/ss\n").queues == "ss"
    far = frames.parse_remote("77 sh: getconf: not found \n")
    assert (far.pid, far.page_kb, far.queues) == (77, 4, "")
    with pytest.raises(TransportError, match="POSIX shell"):
        frames.parse_remote("Windows PowerShell\n")


def test_only_what_is_new_is_sent_again() -> None:
    orders = frames.Orders()
    request = Request((Wanted("/proc/stat", lines="^cpu"), Wanted("/proc/meminfo")), processes=True)
    first = orders.sample(request, frozenset(), "m1", sockets=False, queues="ss")
    assert first == "g /proc/stat ^cpu\nf /proc/uptime /proc/stat /proc/meminfo\ns m1\nm m1.\n"
    pids = frozenset(range(1, 9))
    asleep = replace(request, asleep=frozenset((2, 3, 99)))
    assert "z 2 3\ns m2\n" in orders.sample(asleep, pids, "m2", sockets=False, queues="ss")
    assert orders.sample(asleep, pids, "m3", sockets=False, queues="ss") == "s m3\nm m3.\n"
    woken = replace(request, asleep=frozenset((3, 4)))
    assert "z 4\nw 2\ns m4\n" in orders.sample(woken, pids, "m4", sockets=False, queues="ss")
    ended = orders.sample(woken, pids - {4}, "m5", sockets=False, queues="ss")
    assert ended == "s m5\nm m5.\n"
    more = Request((*request.files, Wanted("/proc/version")), processes=True)
    assert "s m6 /proc/version\n" in orders.sample(more, pids, "m6", sockets=True, queues="ss")
    steady = orders.sample(more, pids, "m6b", sockets=False, queues="ss")
    assert "f /proc/uptime /proc/stat /proc/meminfo /proc/version\ns m6b\n" in steady
    fewer = Request(request.files[:1], processes=True)
    assert "f /proc/uptime /proc/stat\n" in orders.sample(fewer, pids, "m7", sockets=True, queues="ss")


def test_listening_sockets_are_asked_for_when_due_and_files_on_demand_always() -> None:
    request = Request((Wanted("/proc/stat"), *TABLES, Wanted("/proc/1/fd/")))
    lines = frames.Orders().sample(request, frozenset(), "m1", sockets=False, queues="").splitlines()
    assert "h 16384 /dev/null /proc/net/tcp /proc/net/tcp6" in lines
    assert "d /proc/1/fd/" in lines
    sampled = Request(request.files, processes=True)
    assert "tcp6" not in frames.Orders().sample(sampled, frozenset(), "m1", sockets=False, queues="")
    assert "\nm m1q\nq -\n" in frames.Orders().sample(sampled, frozenset(), "m1", sockets=True, queues="ss")
    tested = replace(sampled, ports=frozenset((80, 443)))
    assert "\np 80,443 m1q\n" in frames.Orders().sample(tested, frozenset(), "m1", sockets=True, queues="perl")
    assert "\np - m1q\n" in frames.Orders().sample(sampled, frozenset(), "m1", sockets=True, queues="perl")


@given(st.text())
def test_no_path_becomes_an_order(name: str) -> None:
    request = Request((Wanted(f"/sys/{name}"), Wanted(f"/sys/{name}/")), processes=True)
    lines = frames.Orders().sample(request, frozenset(), "m1", sockets=False, queues="").splitlines()
    assert {line.partition(" ")[0] for line in lines} <= {"m", "f", "s", "d"}
    assert not any(set(line) & set("*?[$`;&|<>()'\"\t") for line in lines)


@given(st.text())
def test_any_text_is_a_frame_or_an_error(text: str) -> None:
    try:
        texts, _ = frames.parse_frame(text, "mark", ASKED, frames.Kept())
    except TransportError:
        return
    assert set(texts.files) == {wanted.path for wanted in FILES}


@given(st.text(alphabet="=><\n /0123abhedstmlu:'."), st.sampled_from([GNU, FRAME]))
def test_a_torn_text_raises_nothing(text: str, frame: str) -> None:
    frames.parse_files(text + frame[: len(frame) // 2] + text)
    frames.parse_pss(frame + text)
    with contextlib.suppress(TransportError):
        frames.parse_frame(frame + text + frame, "mark", ASKED, frames.Kept())


def test_the_loop_is_sent_without_comments() -> None:
    script = frames.remote_script("word")
    assert script.isascii()
    assert "while read -r $patience order rest" in script
    assert "key=word" in script
    assert not re.search(r"@[A-Z_]+@", script), "something is not filled in"
    assert script.count("'") % 2 == 0
    assert not any(line.startswith("#") for line in script.splitlines())
