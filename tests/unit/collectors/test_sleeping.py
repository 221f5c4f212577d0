"""Where threads of servers wait: for a timer of their own, or in an event loop until its next one is due."""

from pathlib import Path

import pytest

from collectors.linux import sleeping
from collectors.linux.sleeping import MOST_MOMENTS
from collectors.transport.thread_looks import MOST_LOOKS, ThreadLooks

LAST = "0x7ffc1f2a3b40 0x7f3a2b1c5d6e"  # the stack and the instruction


@pytest.mark.parametrize(
    ("text", "known", "asleep"),
    [
        ("hrtimer_nanosleep", True, True),
        ("do_nanosleep\n", True, True),
        ("common_nsleep", True, True),
        ("ep_poll 232 0x4 0x1 0x1 0x5 0x0 0x0 0x1 0x2", True, False),
        ("futex_wait_queue", True, False),
        ("0", False, False),
        ("", False, False),
    ],
)
def test_a_thread_that_sleeps(text: str, known: bool, asleep: bool) -> None:
    assert (sleeping.is_known(text), sleeping.sleeps(text)) == (known, asleep)


@pytest.mark.parametrize(
    ("text", "timeout"),
    [
        (f"ep_poll 232 0x4 0x55d0 0x200 0x32 0x0 0x0 {LAST}\n", 50),
        (f"ep_poll 281 0x4 0x55d0 0x200 0xffffffff 0x0 0x8 {LAST}\n", 0),
        (f"ep_poll 232 0x4 0x55d0 0x200 0xffffffffffffffff 0x0 0x0 {LAST}\n", 0),
        (f"ep_poll 441 0x4 0x55d0 0x200 0x7ffc1f2a3b40 0x0 0x8 {LAST}\n", 0),  # a pointer
        (f"do_epoll_wait 22 0x4 0x55d0 0x200 0x1 0x0 0x0 {LAST}\n", 1),
        ("ep_poll running\n", None),
        ("ep_poll ", None),
        ("ep_poll -1 0x7ffc 0x7f3a", None),
        ("ep_poll 232 " + "0x" + "f" * 40, None),
        ("hrtimer_nanosleep", None),
        ("0", None),
    ],
)
def test_how_long_an_event_loop_waits_at_most(text: str, timeout: int | None) -> None:
    assert sleeping.timeout_ms(text) == timeout


def put(root: Path, thread: str, wchan: str, syscall: str = "", stat: str = "") -> None:
    directory = root / "proc" / thread
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "wchan").write_text(wchan)
    (directory / "syscall").write_text(syscall)
    (directory / "stat").write_text(stat)


def test_threads_are_read_at_several_moments_and_told_with_the_next_request(tmp_path: Path) -> None:
    looks, threads = ThreadLooks(str(tmp_path)), [f"{pid}/task/{pid}" for pid in range(10, 18)]
    for thread in threads:
        put(tmp_path, thread, "hrtimer_nanosleep")
    put(tmp_path, threads[0], "ep_poll", f"232 0x4 0x55d0 0x200 0x32 0x0 0x0 {LAST}\n")
    assert looks.exchange(threads) == {}
    looks.look()
    for thread in threads:
        put(tmp_path, thread, "folio_wait_bit_common", stat="7 (a) D) D 1 2 3")
    put(tmp_path, threads[-1], "")
    for _ in range(2 * MOST_MOMENTS):
        looks.look()
    found = dict(looks.exchange(["99/task/99"]))
    loop, *others = found.pop(threads[0]).splitlines()
    assert (sleeping.timeout_ms(loop), *map(sleeping.is_blocked, others)) == (50, *[True] * (MOST_MOMENTS - 1))
    assert found.pop(threads[-1]) == "hrtimer_nanosleep\n", "it ended"
    blocked = "folio_wait_bit_common D\n" * (MOST_MOMENTS - 1)
    assert found == dict.fromkeys(threads[1:-1], f"hrtimer_nanosleep\n{blocked}")
    assert looks.exchange([]) == {}, "99 does not exist"


def test_many_threads_are_read_at_fewer_moments(tmp_path: Path) -> None:
    looks, threads = ThreadLooks(str(tmp_path)), [f"{pid}/task/{pid}" for pid in range(100, 100 + MOST_LOOKS)]
    for thread in threads:
        put(tmp_path, thread, "do_wait")
    looks.exchange(threads)
    assert looks.exchange(threads) == dict.fromkeys(threads, "do_wait\n"), "no moment before: they are read now"
    looks.look()
    looks.look()
    assert looks.exchange([]) == dict.fromkeys(threads, "do_wait\n")


def test_few_looks_are_spread_over_the_calls_between_two_samples(tmp_path: Path) -> None:
    looks, threads = ThreadLooks(str(tmp_path)), [f"{pid}/task/{pid}" for pid in range(100, 100 + MOST_LOOKS // 3)]
    found: list[str] = []
    for _ in range(2):
        looks.exchange(threads)
        for call in range(12):
            put(tmp_path, threads[0], f"call_{call}")
            looks.look()
        found.append(looks.exchange(threads)[threads[0]])
        for _ in range(12):
            looks.look()
    assert [text.split() for text in found] == [["call_0", "call_1", "call_2"], ["call_0", "call_3", "call_7"]]


@pytest.mark.parametrize(("user", "line"), [(0, "0 D\n"), (1000, "0\n")])
def test_the_state_of_a_thread_without_a_function_is_read_as_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, line: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    looks = ThreadLooks(str(tmp_path))
    put(tmp_path, "7/task/7", "0", stat="7 (a) D 1 2 3")
    looks.exchange(["7/task/7"])
    assert looks.exchange([]) == {"7/task/7": line}


@pytest.mark.parametrize(
    ("line", "blocked"),
    [
        ("folio_wait_bit_common D", True),
        ("folio_wait_bit_common S", False),
        ("jbd2_log_wait_commit D", True),
        ("hrtimer_nanosleep D", False),
        ("0 D", True),
        ("0 R", False),
        ("folio_wait_bit_common ", False),
    ],
)
def test_a_thread_in_an_uninterruptible_sleep(line: str, blocked: bool) -> None:
    assert sleeping.is_blocked(line) is blocked
