"""Standard streams that last as long as the program, whatever their other end does."""

import os
import sys
from typing import Any, TextIO, cast


class Lasting:
    """Standard output or error. A reader that goes away (``| head``) ends neither a test nor its recording: what is
    printed then is lost, and ``gone`` says so. Any other trouble, such as a full disk, is kept in ``problem``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.problem = ""
        self.gone = False

    def write(self, text: str) -> int:
        """Write as far as it goes."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Flush as far as it goes."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.gone = True
        if not isinstance(error, BrokenPipeError):
            self.problem = error.strerror or str(error)
        # What is left in the stream's buffer must have somewhere to go.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def reader_is_gone() -> bool:
    """Whether nobody takes what is printed any more."""
    return bool(getattr(sys.stdout, "gone", False))


def keep_streams() -> Lasting:
    """Open standard streams that were closed, and make output and error last; the new standard output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Python has None for a stream that was closed, whatever its type says.
    given: tuple[TextIO | None, ...] = (sys.stdin, sys.stdout, sys.stderr)
    if given[0] is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the program runs
    out, told = (
        Lasting(stream or open(number, "w", closefd=False))  # noqa: SIM115
        for number, stream in enumerate(given[1:], 1)
    )
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", told)
    return out
