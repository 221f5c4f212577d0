"""Lets ssh ask for a password, a passphrase or a second factor on the terminal that loadtop was started from.

ssh reads answers from the terminal itself, so none passes through here. It runs in a process group of its own, which is
the terminal's foreground group only while ssh may ask: afterwards keys and Ctrl-C are loadtop's again, and not ssh's.
"""

import asyncio
import contextlib
import os
import signal
import termios
import threading
from collections.abc import Generator

ASK_S = 120.0
"""So long is waited for an answer."""

ASKING = asyncio.Lock()
"""One question at a time, however many machines ask."""


class Prompt:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._settings = termios.tcgetattr(descriptor)

    def give(self, group: int) -> None:
        os.tcsetpgrp(self._descriptor, group)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)  # where it tried to read before it was allowed to

    def take_back(self) -> None:
        """As it was: one that was killed while it asked leaves a terminal without echo."""
        os.tcsetpgrp(self._descriptor, os.getpgrp())
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)


@contextlib.contextmanager
def prompt() -> Generator[Prompt | None]:
    """The terminal that this process was started from; ``None`` where there is none, or it is another program's now."""
    with contextlib.ExitStack() as afterwards:
        yield _taken(afterwards)


def _taken(afterwards: contextlib.ExitStack) -> Prompt | None:
    if threading.current_thread() is not threading.main_thread():
        return None
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    afterwards.callback(os.close, descriptor)
    if os.tcgetpgrp(descriptor) != os.getpgrp():
        return None
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # or taking the terminal back would stop this process
    afterwards.callback(signal.signal, signal.SIGTTOU, before)
    found = Prompt(descriptor)
    afterwards.callback(found.take_back)
    return found
