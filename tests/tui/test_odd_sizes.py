"""Terminals of odd sizes: nothing is drawn over and over, and keys still work."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pytest
from textual import events
from textual.geometry import Size

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

PROGRAM = """
import asyncio
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit, run_cockpit
asyncio.run(run_cockpit(Cockpit(FakeFeed(SCENES["headroom"]()))))
"""
MOST = 60_000
"""Bytes: four whole screens of 80x24. Drawn for ever, it is a megabyte a second."""


@pytest.mark.parametrize("size", [(0, 0), (1, 1)], ids=["0x0", "1x1"])
def test_a_terminal_without_a_size_is_drawn_once(size: tuple[int, int]) -> None:
    pid, master = pty.fork()
    if pid == 0:  # pragma: no cover (the child becomes the program)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        os.execve(sys.executable, (sys.executable, "-c", PROGRAM), environment)  # noqa: S606 (no shell is wanted)
    seen = b""
    try:
        calm, deadline = False, time.monotonic() + 20.0
        while not calm and len(seen) < MOST and time.monotonic() < deadline:
            calm = not select.select([master], [], [], 1.0)[0] and b"\x1b[1;1H" in seen
            seen += b"" if calm or not select.select([master], [], [], 0.1)[0] else os.read(master, 65536)
        assert calm, f"{len(seen)} bytes, and on it goes"
        assert len(seen) < MOST
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


async def test_sizes_that_overtake_each_other_end_with_the_terminals(appearance: Appearance) -> None:
    app = Cockpit(FakeFeed(SCENES["headroom"]()), appearance=appearance)
    async with app.run_test(size=(80, 25)) as pilot:
        await pilot.pause()
        layouts: list[Size] = []
        lay_out = app.screen._refresh_layout  # pyright: ignore[reportPrivateUsage]

        def counted(size: Size | None = None, scroll: bool = False) -> None:
            layouts.append(size or Size())
            assert len(layouts) < 50
            lay_out(size, scroll)

        app.screen._refresh_layout = counted  # type: ignore[method-assign]
        for size in (Size(80, 24), Size(80, 25), Size(80, 24)):
            app.screen.post_message(events.Resize(size, size))
        for _ in range(10):
            await pilot.pause()
        assert set(layouts) <= {Size(80, 25)}
        assert app.screen.region.size == Size(80, 25)
