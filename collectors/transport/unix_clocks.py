"""Counts the connections to unix sockets of this machine, by path and by user.

The kernel keeps no clocks of unix sockets. What is known is that a connection is open, and since about when, because
it was looked at before. A connection that was made for one request counts as a question as long as it waits to be
accepted or is open. One that stays is a connection of a pool, and says nothing (:data:`OLDEST_S`).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.linux.peers import MOST_PEERS, Sums
from collectors.linux.unix_sockets import is_followed
from collectors.transport import unix_diag

OLDEST_S = 10.0  # a connection that is older is not one of a request; our own
MOST_CONNECTIONS = 20_000  # that are remembered

Asking = tuple[str, int]  # a path, and the user who asks there


@dataclass(slots=True)
class UnixClocks:
    """Adds readings up. Not to be used from two threads at once."""

    _asked: dict[Asking, Sums] = field(default_factory=dict[Asking, Sums])
    _since: dict[int, float] | None = None  # by the inode of the client's end; not known of those that were there first

    def read(self, now: float | None = None) -> None:
        """Take one reading, at ``now`` on the monotonic clock. Raises ``OSError`` where the kernel has no unix_diag."""
        at, first = time.monotonic() if now is None else now, self._since is None
        before, since = self._since or {}, dict[int, float]()
        for each in unix_diag.connections():
            if not is_followed(each.path):
                continue
            known = self._asked.get((each.path, each.user))
            if known is None:
                if len(self._asked) >= MOST_PEERS:
                    continue
                known = self._asked[each.path, each.user] = Sums()
            known.connections += 1
            opened_at = before.get(each.inode)
            if opened_at is None:
                opened_at = at - 2 * OLDEST_S if first else at
                known.segments += not first
            if at - opened_at < OLDEST_S:
                age_ms = round(1000 * (at - opened_at))
                known.questions += 1
                known.age_ms += age_ms
                known.answered += 1
                known.answered_age_ms += age_ms
            if len(since) < MOST_CONNECTIONS:
                since[each.inode] = opened_at
        self._since = since

    def rows(self) -> Iterator[str]:
        """The sums, in the format of :mod:`collectors.linux.peers`."""
        for (path, user), each in self._asked.items():
            yield each.row("|", path, user)
