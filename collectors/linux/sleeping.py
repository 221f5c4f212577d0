"""What threads of a server wait for in the kernel, by the lines that a transport makes of each, one for each moment at
which it looked: the function in which it waits (``wchan``: Linux, Documentation/filesystems/proc.rst), which root and
the same user may know, others read ``0``. No I/O here.

A page that sleeps (PHP's ``usleep``, Python's ``time.sleep`` since 3.11) waits for nothing but a timer: its thread is
then in the kernel's function for that.

An event loop waits in ``epoll_wait`` for whatever comes first, at most until its next timer is due. After its function
stands what ``syscall`` shows to root, and often to the same user: the number of the system call and its arguments in
hexadecimal, of which the fourth is that time in ms. A request that pauses there, by a setting of the server, shows as
a short one. A timer of the program's own looks the same, and most other programs have one.

After a function in which threads do not just rest stands the state, the third field of ``stat``: D is an
uninterruptible sleep, mostly for a disk. For root it also stands after ``0``: a thread that has just fallen asleep can
still be in the queue of its CPU, and then has no function yet (Linux, kernel/sched/fair.c, DELAY_DEQUEUE, since 6.12).
"""

import re

from collectors.parsing import hexadecimal

MOST_MOMENTS = 16  # of which a transport tells

_SLEEPS = re.compile(r"\w{0,40}n(?:ano)?sleep")
"""hrtimer_nanosleep, do_nanosleep, common_nsleep: the name has changed."""

EPOLL = re.compile(r"ep_poll\b|do_epoll_wait\b")
AT_EASE = re.compile(
    r"\w{0,40}n(?:ano)?sleep|futex_|inet_csk_accept|do_sem|do_poll|do_sys_poll|do_select|poll_|pipe_|sk_wait|unix_|do_wait"
)
"""Functions in which threads wait for work, another thread, a program or the network, none of which is a disk."""

_SHOWN = re.compile(r"\w{1,60} \d{1,3} (?:0x[0-9a-f]{1,16} ){3}0x([0-9a-f]{1,16})(?: |$)")
_MOST_MS = 0x7FFFFFFF


def is_known(line: str) -> bool:
    """Whether the kernel told where a thread waits, if it does."""
    return line.partition(" ")[0].strip() not in ("", "0")


def sleeps(line: str) -> bool:
    """Whether a thread does nothing but wait for a timer."""
    return _SLEEPS.match(line) is not None


def is_blocked(line: str) -> bool:
    return line.endswith(" D") and AT_EASE.match(line) is None


def timeout_ms(line: str) -> int | None:
    """How long an event loop waits at most, 0 for ever; ``None`` where it does not wait, or that is not known. The
    newer ``epoll_pwait2`` has a pointer in that place, which no time is as large as."""
    shown = _SHOWN.match(line) if EPOLL.match(line) else None
    if shown is None:
        return None
    timeout = hexadecimal(shown[1], "syscall")
    return timeout if timeout <= _MOST_MS else 0
