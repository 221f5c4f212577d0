"""Which verdicts were shown live, and when another one began."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable

from loadtop.recording.definitions import Definitions, loaded_text


class Changes:
    """``found``: seconds of the session, the verdict's name and its machine, as far as was read.

    What was shown never changes, so it is read once; a recording that grows is read on.
    """

    def __init__(
        self, connection: sqlite3.Connection, definitions: Definitions, at: Callable[[int], float | None]
    ) -> None:
        """``at`` gives the time of a frame."""
        self.found: list[tuple[float, str, str | None]] = []
        self._connection = connection
        self._definitions = definitions
        self._at = at
        self._read_to = 0
        self._claims: dict[int, tuple[str, str | None]] = {}

    def longest(self, stretches: Iterable[tuple[int, int]]) -> str:
        """The name of the verdict of most frames in these stretches (first and last), or an empty string."""
        query = "SELECT claim, count(*) FROM finding WHERE position = 0 AND frame BETWEEN ? AND ? GROUP BY claim"
        shown: Counter[str] = Counter()
        for stretch in stretches:
            for claim, count in self._connection.execute(query, stretch):
                shown[str(self._definitions.values("claim", claim)[0])] += count
        return shown.most_common(1)[0][0] if shown else ""

    def learn(self, most: int = -1) -> bool:
        """Read on, so many intervals at most; the result says whether there may be more."""
        query = "SELECT frame, claim FROM finding WHERE position = 0 AND frame > ? ORDER BY frame LIMIT ?"
        read = 0
        for number, claim in self._connection.execute(query, (self._read_to, most)):
            name = self._claims.get(claim)
            if name is None:
                bottleneck, host = self._definitions.values("claim", claim)[:2]
                name = self._claims[claim] = str(bottleneck), None if host is None else loaded_text(host)
            if not self.found or self.found[-1][1:] != name:
                self.found.append((self._at(number) or 0.0, *name))
            self._read_to = number
            read += 1
        return read >= most > 0
