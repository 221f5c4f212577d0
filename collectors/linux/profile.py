"""Where the CPU time goes: what ``profile.sh`` prints, with the profilers that are installed or without any."""

from collections.abc import Iterator
from operator import itemgetter

from collectors.parsing import LONGEST_NAME, complete_lines, count_or_none, on_one_line, short
from loadtop.i18n import Message
from loadtop.model import Profile

LIMIT_S = 20  # a profiler takes seconds to find the names of functions on a busy machine
_LONGEST, _MOST = 1 << 16, 1001  # characters and lines that are printed at most
_LONGEST_STACK = 6000

_CALLS = {  # numbers of system calls in which servers wait, by architecture: Linux, syscall_64.tbl and asm-generic
    "x86_64": "0 read 1 write 7 poll 17 pread64 18 pwrite64 20 writev 23 select 34 pause 35 nanosleep 42 connect "
    "43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 61 wait4 65 semop 72 fcntl 73 flock 74 fsync 75 fdatasync "
    "202 futex 220 semtimedop 230 clock_nanosleep 232 epoll_wait 247 waitid 257 openat 270 pselect6 271 ppoll "
    "281 epoll_pwait 288 accept4 426 io_uring_enter",
    "aarch64": "22 epoll_pwait 25 fcntl 32 flock 56 openat 63 read 64 write 66 writev 67 pread64 68 pwrite64 "
    "72 pselect6 73 ppoll 82 fsync 83 fdatasync 95 waitid 98 futex 101 nanosleep 115 clock_nanosleep 192 semtimedop "
    "193 semop 202 accept 203 connect 206 sendto 207 recvfrom 211 sendmsg 212 recvmsg 242 accept4 260 wait4 "
    "426 io_uring_enter",
}


def parse(host: str, printed: str) -> Profile:
    """The profile that ``profile.sh`` printed. Lines that are not as it prints them are passed over."""
    lines = complete_lines(printed[:_LONGEST])
    tool, _, architecture = next(lines, "").partition(" ")
    words = _CALLS.get(architecture, "").split()
    names = dict(zip(words[::2], words[1::2], strict=True))
    stacks: list[tuple[str, int]] = []
    calls: list[tuple[str, int]] = []
    for kind, count, stack in _counted(lines):
        if kind == "call":
            process, _, number = stack.rpartition(";")
            calls.append((f"{process};{names.get(number, f'syscall {number}')}", count))
        else:
            stacks.append((stack, count))
    stacks.sort(key=itemgetter(1), reverse=True)
    problem = "" if stacks else Message("no process used the CPU, or none can be seen there")
    return Profile(host, short(on_one_line(tool), LONGEST_NAME), tuple(stacks), tuple(calls), problem)


def _counted(lines: Iterator[str]) -> Iterator[tuple[str, int, str]]:
    for _, line in zip(range(_MOST), lines, strict=False):
        kind, rest = ("call", line[5:]) if line.startswith("call ") else ("", line)
        number, _, stack = rest.partition(" ")
        if (count := count_or_none(number, 1 << 32)) and stack:
            yield kind, count, short(on_one_line(stack), _LONGEST_STACK)
