"""Output of commands: cut into lines of text, and passed on to a file of ours if there is no cockpit."""

import asyncio
import codecs
import contextlib
import os
import re
import select
import threading
from collections.abc import Callable

from loadtop.i18n.outside import printable, without_escape_sequences

MAX_LINE = 4096  # characters of a line; the rest is left out
FLUSH_S = 0.2  # a line without end is passed on after this time without more output: it may be a prompt
_LINE_END = re.compile(r"[\r\n]")


class LineSplitter:
    """Cuts output into lines without escape sequences. A carriage return ends a line too. Of a line that is longer than
    :data:`MAX_LINE`, the start comes at once."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._cut = False  # whether the line that continues was too long

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that are complete now, without blank ones."""
        *lines, rest = _LINE_END.split(self._rest + self._decoder.decode(data))
        if lines and self._cut:
            lines[0], self._cut = "", False
        self._rest = "" if self._cut else rest
        if len(self._rest) > MAX_LINE:
            lines.append(self._rest)
            self._rest, self._cut = "", True
        return [line for text in lines if (line := without_escape_sequences(text[:MAX_LINE]).rstrip()).strip()]


class CommandOutput:
    """Gives each line of output to ``on_line``."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._lines = LineSplitter()
        self._done = asyncio.Event()

    async def drained(self, seconds: float) -> None:
        """Wait until all output has been read, at most this long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._done.wait()

    def _feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._on_line(line)

    def _finish(self) -> None:
        self._feed(b"\n")
        self._done.set()


class OutputForwarder(CommandOutput):
    """Passes the output of a command on to the open file ``out``, and each line to ``on_line``.

    Output is passed on in whole lines, so that it does not cut lines of ours. A terminal gets control characters
    escaped, anything else every byte as it came. If the reader of ``out`` closes it, so is the command's pipe.
    """

    def __init__(self, out: int, on_line: Callable[[str], None]) -> None:
        super().__init__(on_line)
        self._out = out
        self._to_terminal = os.isatty(out)
        self._loop = asyncio.get_running_loop()
        self._read_end, self.command_end = os.pipe()
        threading.Thread(target=self._run, name=f"output to {out}", daemon=True).start()

    def _run(self) -> None:
        pending = b""
        try:
            while True:
                ready, _, _ = select.select([self._read_end], [], [], FLUSH_S if pending else None)
                data = os.read(self._read_end, 65_536) if ready else b""
                if ready and not data:
                    break
                if data:
                    self._loop.call_soon_threadsafe(self._feed, data)
                pending += data
                end = len(pending) if not ready else max(pending.rfind(b"\n"), pending.rfind(b"\r")) + 1
                self._write(pending[:end])
                pending = pending[end:]
            self._write(pending)
        except OSError:
            pass
        finally:
            os.close(self._read_end)
            with contextlib.suppress(RuntimeError):  # the loop may have ended before the command's output
                self._loop.call_soon_threadsafe(self._finish)

    def _write(self, data: bytes) -> None:
        if self._to_terminal and data:
            text = data.decode("utf-8", "replace")
            data = "\r".join(map(printable, text.split("\r"))).encode()
        while data:
            data = data[os.write(self._out, data) :]
