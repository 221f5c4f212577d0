"""Without a screen, what a command prints is passed on as it comes, and read on the way."""

import asyncio
import os
import select
import threading
from collections.abc import Callable

from loadtop.engines.lines import LineSplitter
from loadtop.i18n import plain

IDLE_S = 0.2
"""After so long without more, a line that has no end yet is passed on: it may be a question."""


class Passage:
    """Passes what one pipe brings to a file of ours: in whole lines, so that ours are never cut by it.

    To a terminal, control characters go as their codes; to anything else, every byte as it came. When the file is
    closed by whoever reads it, the command meets a closed pipe too.
    """

    def __init__(self, out: int, heard: Callable[[str], None]) -> None:
        self._out = out
        self._to_terminal = os.isatty(out)
        self._heard = heard
        self._lines = LineSplitter()
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._end, self._command_end = os.pipe()
        self._thread = threading.Thread(target=self._run, name=f"output to {out}", daemon=True)

    @property
    def command_end(self) -> int:
        """The file that the command is to have."""
        return self._command_end

    def start(self) -> None:
        """Begin, once the command has its file: our copy is closed."""
        os.close(self._command_end)
        self._thread.start()

    async def drained(self, seconds: float) -> None:
        """Wait until everything has been passed on, but no longer than that."""
        try:
            await asyncio.wait_for(self._done.wait(), seconds)
        except TimeoutError:
            return

    def _run(self) -> None:
        kept = b""
        try:
            while True:
                ready, _, _ = select.select([self._end], [], [], IDLE_S if kept else None)
                data = os.read(self._end, 65_536) if ready else b""
                if ready and not data:
                    break
                if data:
                    self._loop.call_soon_threadsafe(self._hear, data)
                kept += data
                cut = len(kept) if not ready else max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1
                self._write(kept[:cut])
                kept = kept[cut:]
            self._write(kept)
        except OSError:
            pass
        finally:
            os.close(self._end)
            self._finish()

    def _write(self, data: bytes) -> None:
        if self._to_terminal and data:
            text = data.decode("utf-8", "replace")
            data = "".join(each if each in "\n\r\t" else plain(each) for each in text).encode()
        while data:
            data = data[os.write(self._out, data) :]

    def _finish(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._end_of_lines)
        except RuntimeError:  # the loop has ended before the command's output did
            return

    def _hear(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._heard(line)

    def _end_of_lines(self) -> None:
        for line in self._lines.finish():
            self._heard(line)
        self._done.set()
