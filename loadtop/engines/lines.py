"""From what a program writes to a terminal or a pipe to lines of text."""

import codecs
import re

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_].*?\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)
"""Escape sequences of ECMA-48 as terminals know them."""

LONGEST = 65_536
"""Characters after which a line without an end is taken as it is."""


class LineSplitter:
    """Cuts what comes in pieces into lines, without escape sequences; a carriage return ends a line too."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now, blank ones left out."""
        *whole, self._rest = re.split(r"[\r\n]+", self._rest + self._decoder.decode(data))
        if len(self._rest) > LONGEST:
            whole.append(self._rest)
            self._rest = ""
        return [line for text in whole if (line := _SEQUENCE.sub("", text).rstrip()).strip()]

    def finish(self) -> list[str]:
        """The line that had no end, if there is one."""
        return self.feed(b"\n")
