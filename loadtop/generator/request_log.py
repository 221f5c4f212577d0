"""Single requests: their times for ab's -g, and their text for ab's -v."""

from array import array
from io import StringIO
from typing import TYPE_CHECKING

from loadtop.i18n import Message
from loadtop.i18n.outside import printable
from loadtop.model.secrets import header_without_secrets, url_without_secrets

if TYPE_CHECKING:
    from loadtop.generator.exchange import Exchange, ResponseParser

ROW = 4
"""Numbers in a row of a request log: native 64-bit integers. They are the start (``perf_counter_ns``), and in
nanoseconds the total, connect and waiting times."""

VERBOSE_HEADS, VERBOSE_STATUSES = 2, 3  # the levels of ab's -v that print heads, and every status
_MAX_PENDING = 1 << 20  # characters that may wait for a reader; later text is left out and counted


class RequestLog:
    """The worker's side of -g: collects rows; :meth:`flush` writes them to ``descriptor``, so memory stays small."""

    def __init__(self, descriptor: int) -> None:
        self._file = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - open as long as this object
        self._rows = array("q")
        self.problem: Message | None = None

    def add(self, started: int, total: int, connect: int, waiting: int) -> None:
        self._rows.extend((started, total, connect, waiting))

    def flush(self) -> None:
        """Write the collected rows. If that fails, :attr:`problem` says why, and nothing more is written."""
        if self._rows and self.problem is None:
            try:
                rest = memoryview(self._rows).cast("B")
                while rest:
                    rest = rest[self._file.write(rest) :]
            except OSError as error:
                self.problem = Message(
                    "cannot store the times of requests (-g): {reason}. Check TMPDIR.", reason=error.strerror
                )
        self._rows = array("q")

    def restart(self) -> None:
        """Forget everything: the warm-up is over."""
        self.flush()
        self._file.seek(0)
        self._file.truncate()


class VerboseLog:
    """The text of -v, until it is taken, without passwords and cookies; a server's control characters become codes."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._text = StringIO()
        self._left_out = 0

    def add_requests(self, exchanges: "tuple[Exchange, ...]") -> None:
        """Add the heads of the requests that will be sent."""
        for exchange in exchanges:
            head = exchange.request.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
            first, *headers = head.split("\r\n")
            shown = "\r\n".join((url_without_secrets(first), *map(header_without_secrets, headers)))
            text = f"INFO: {exchange.target.method} header == \n---\n{printable(shown)}\r\n\r\n\n---\n"
            if not self._is_full():
                self._text.write(text)

    def add_response(self, parser: "ResponseParser") -> None:
        """Add everything that came with the packets of a response's head, as ab does."""
        if self._is_full():
            return
        head, end, rest = parser.start.decode("latin-1").partition("\r\n\r\n")
        shown = "\r\n".join(map(url_without_secrets, head.split("\r\n")))
        text = f"LOG: header received:\n{printable(shown + end + rest)}\n"
        if not 200 <= parser.status < 300:
            text += f"WARNING: Response code not 2xx ({parser.status})\n"
        elif self._level >= VERBOSE_STATUSES:
            text += f"LOG: Response code = {parser.status}\n"
        self._text.write(text)

    def take(self) -> str:
        if self._left_out:
            self._text.write(f"LOG: {self._left_out} responses left out: they arrive faster than they can be shown\n")
        text = self._text.getvalue()
        self._text = StringIO()
        self._left_out = 0
        return text

    def _is_full(self) -> bool:
        """Whether too much waits for the reader; if so, one more text is left out."""
        full = self._text.tell() > _MAX_PENDING
        self._left_out += full
        return full
