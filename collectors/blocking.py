"""Which session of a database blocks most others, from one row for each session that waits for a lock."""

from collections import Counter
from typing import NamedTuple

from collectors.parsing import LONGEST_TEXT, complete_lines, count_or_none, short
from loadtop.model.server import Blocker

BLOCKED = "blocked"
"""The first cell of such a row. The others: the session that waits, one that blocks it, for how long (ms), ``idle`` or
``active`` for what that one does, the first word of its statement, the lock's mode, and the table."""

HIDDEN = "blocking_hidden"  # the name of a row with a 1: this account may not ask who blocks whom

LIMIT_S = 0.3  # time limit of the statement: the server is short of something already; our own

_STATEMENTS = (
    "ALTER ANALYZE BEGIN CALL CLUSTER COMMIT COPY CREATE DELETE DO DROP EXECUTE FETCH INSERT LOAD LOCK MERGE OPTIMIZE "
    "REFRESH REINDEX RELEASE RENAME REPAIR REPLACE ROLLBACK SAVEPOINT SELECT SET SHOW START TABLE TRUNCATE UPDATE "
    "VACUUM VALUES WITH"
)
"""Kinds of statements. No other word is kept: it could be a part of a literal."""


class _Wait(NamedTuple):
    session: int
    blocker: int
    waited_ms: int
    idle: bool
    statement: str
    mode: str
    table: str


def blocking(text: str) -> tuple[Blocker | None, int]:
    """The session that blocks most others, directly or through others that wait, and how many block another one."""
    waits = {wait.session: wait for line in complete_lines(text) if (wait := _wait(line))}
    ends = _ends(waits)
    counted = Counter(end for end in ends.values() if end is not None)
    blockers = len({wait.blocker for wait in waits.values()})
    if not counted:
        return None, blockers
    ((worst, blocked),) = counted.most_common(1)
    behind = [waits[session] for session, end in ends.items() if end == worst]
    direct = next(wait for wait in behind if wait.blocker == worst)
    named = next((wait for wait in (direct, *behind) if wait.table), direct)
    return Blocker(
        session=worst,
        blocked=blocked,
        waited_ms=max(wait.waited_ms for wait in behind),
        idle=direct.idle,
        statement=direct.statement,
        mode=named.mode,
        table=named.table,
    ), blockers


def _wait(line: str) -> _Wait | None:
    cells = line.split("\t")
    if len(cells) != 8 or cells[0] != BLOCKED:
        return None
    session, blocker = count_or_none(cells[1]), count_or_none(cells[2])
    if session is None or blocker is None:
        return None
    statement = cells[5].upper()
    return _Wait(
        session=session,
        blocker=blocker,
        waited_ms=count_or_none(cells[3]) or 0,
        idle=cells[4] == "idle",
        statement=statement if statement in _STATEMENTS.split() else "",
        mode=short(cells[6]),
        table=short(cells[7].replace("`", ""), LONGEST_TEXT),
    )


def _ends(waits: dict[int, _Wait]) -> dict[int, int | None]:
    """The session at the end of the chain in which each one waits; ``None`` in a deadlock."""
    ends: dict[int, int | None] = {}
    for session in waits:
        chain, last = set[int](), session
        while last in waits and last not in ends and last not in chain:
            chain.add(last)
            last = waits[last].blocker
        ends |= dict.fromkeys(chain, ends.get(last) if last in waits else last)
    return {session: ends[session] for session in waits}
