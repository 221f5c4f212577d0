"""What is sent and received, in words: ab's -v 2 (requests and heads of responses) and -v 3 (their status too)."""

import re

from loadtop.generator.exchange import Exchange, Reply
from loadtop.i18n import plain

HEADS, STATUSES = 2, 3
"""The levels of ab's -v from which heads, and from which every status is told."""
_MOST_WAITING = 1 << 22
"""Characters that may wait for a reader; what comes then is left out and counted."""
_SECRET = re.compile(r"^((?:proxy-)?authorization|cookie):[^\r\n]*", re.IGNORECASE | re.MULTILINE)
_LINE_ENDS = re.compile(r"(\r?\n)")


class Transcript:
    """Text that grows until it is taken. Passwords and cookies that are sent are not in it; control characters that a
    server sends are shown as their codes."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._parts: list[str] = []
        self._waiting = 0
        self._left_out = 0

    def begin(self, exchanges: tuple[Exchange, ...], methods: tuple[str, ...]) -> None:
        """Tell which requests will be sent: their heads, once."""
        for exchange, method in zip(exchanges, methods, strict=True):
            head = exchange.wire.partition(b"\r\n\r\n")[0].decode("utf-8", "replace")
            shown = _SECRET.sub(r"\1: (not shown)", head)
            self._add(f"INFO: {method} header == \n---\n{_safe(shown)}\r\n\r\n\n---\n")

    def answered(self, reply: Reply) -> None:
        """Tell of a response: all that came with the packets of its head, as ab does."""
        text = f"LOG: header received:\n{_safe(reply.start.decode('latin-1'))}\n"
        if not 200 <= reply.status < 300:
            text += f"WARNING: Response code not 2xx ({reply.status})\n"
        elif self._level >= STATUSES:
            text += f"LOG: Response code = {reply.status}\n"
        self._add(text)

    def take(self) -> str:
        """All text since the last call."""
        if self._left_out:
            self._parts.append(f"LOG: {self._left_out} responses left out: they come faster than they can be shown\n")
        text = "".join(self._parts)
        self._parts.clear()
        self._waiting = self._left_out = 0
        return text

    def _add(self, text: str) -> None:
        if self._waiting > _MOST_WAITING:
            self._left_out += 1
            return
        self._waiting += len(text)
        self._parts.append(text)


def _safe(text: str) -> str:
    """The text with its lines as they are and everything else that a terminal would obey as codes."""
    return "".join(part if part in ("\n", "\r\n") else plain(part) for part in _LINE_ENDS.split(text))
