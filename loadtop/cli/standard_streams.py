"""Standard streams that keep working when their other end is closed."""

import os
import sys
from typing import Any, TextIO, cast


class RobustStream:
    """Standard output or error. If the reader ends (``| head``), the test and its recording continue, and later output
    is lost (``gone``). ``problem`` is any other error, such as a full disk."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.problem = ""
        self.gone = False

    def write(self, text: str) -> int:
        """Write, unless the stream is broken."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.gone = True
        if not isinstance(error, BrokenPipeError):
            self.problem = error.strerror or str(error)
        # The rest of the stream's buffer must go somewhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def robust_streams() -> RobustStream:
    """Open standard streams that are closed and replace output and error; returns the new standard output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Python sets a closed stream to None, whatever its type says.
    sys.stdin = cast("TextIO | None", sys.stdin) or open(0, closefd=False)  # noqa: SIM115 - for as long as it runs
    out, told = (
        RobustStream(stream or open(number, "w", closefd=False))  # noqa: SIM115
        for number, stream in ((1, cast("TextIO | None", sys.stdout)), (2, cast("TextIO | None", sys.stderr)))
    )
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", told)
    return out
