"""Which session blocks most others, from rows that the statements of real servers gave."""

import time

import pytest

from collectors.blocking import blocking
from collectors.mysql import collector as mysql
from collectors.postgresql import collector as postgresql
from loadtop.model.server import Blocker
from tests.unit.processor_time import allowed_s

MARIADB = """\
blocked\t8\t5\t10000\tactive\tSELECT\tX\t`t`.`a`
blocked\t7\t5\t10000\tactive\tSELECT\tX\t`t`.`a`
blocked\t6\t5\t9000\tactive\tSELECT\tX\t`t`.`a`
"""
POSTGRESQL = """\
blocked\t2155\t2145\t10062\tidle\tUPDATE\tExclusiveLock\ta
blocked\t2157\t2155\t10055\tactive\tUPDATE\tExclusiveLock\ta
blocked\t2156\t2155\t10062\tactive\tUPDATE\tExclusiveLock\ta
"""


def test_real_rows() -> None:
    worst = Blocker(session=5, blocked=3, waited_ms=10000, statement="SELECT", mode="X", table="t.a")
    assert blocking(MARIADB) == (worst, 1)
    worst = Blocker(
        session=2145, blocked=3, waited_ms=10062, idle=True, statement="UPDATE", mode="ExclusiveLock", table="a"
    )
    assert blocking(POSTGRESQL) == (worst, 2)


def test_both_kinds_read_them() -> None:
    status = mysql.parse("version\t8\nThreads_connected\t5\n" + MARIADB)
    assert status.service({}).blocker == status.blocker == blocking(MARIADB)[0]
    text = f"server_version\t15\nsessions\t5\n{POSTGRESQL}"
    known = postgresql.parse(text)
    assert known.service({}).blocker == known.blocker == blocking(POSTGRESQL)[0]
    assert known.blockers == 2
    hidden = postgresql.parse(f"hidden\t1\n{text}")
    assert (hidden.blocker, hidden.blockers) == (None, None)


def test_a_chain_of_transactions_ends_at_its_first() -> None:
    rows = ["blocked\t3\t2\t5\tactive\tUPDATE\tX\tb\n", "blocked\t2\t1\t9\tidle\t\t\t\n"]
    for text in ("".join(rows), "".join(rows[::-1])):
        assert blocking(text)[0] == Blocker(session=1, blocked=2, waited_ms=9, idle=True, mode="X", table="b")


def test_a_long_chain_takes_no_long_time() -> None:
    rows = [f"blocked\t{session}\t{session - 1}\t5\tactive\tUPDATE\tX\tb\n" for session in range(10_000, 1, -1)]
    for text in ("".join(rows), "".join(rows[::-1])):
        began = time.process_time()
        worst, blockers = blocking(text)
        assert time.process_time() - began < allowed_s(0.5)
        assert worst is not None
        assert (worst.session, worst.blocked, blockers) == (1, 9_999, 9_999)


def test_the_one_that_blocks_most_is_named() -> None:
    rows = [
        f"blocked\t{session}\t{blocker}\t5\tactive\tDELETE\tX\tb\n" for session, blocker in ((7, 1), (8, 2), (9, 2))
    ]
    worst, blockers = blocking("".join(rows))
    assert worst is not None
    assert (worst.session, worst.blocked, blockers) == (2, 2, 2)


def test_no_word_of_a_literal_is_kept() -> None:
    found = blocking("blocked\t2\t1\t5\tactive\tHu5h\tX\tb\n")[0]
    assert found == Blocker(session=1, blocked=1, waited_ms=5, mode="X", table="b")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "blocked\t2\n",
        "blocked\t-2\t1\t5\tactive\tUPDATE\tX\tb\n",
        "blocked\t2\tnone\t5\tactive\tUPDATE\tX\tb\n",
        "blocked\t2\t1\t5\tactive\tUPDATE\tX\tb",  # cut off
        "other\t2\t1\t5\tactive\tUPDATE\tX\tb\n",
    ],
)
def test_what_says_nothing(text: str) -> None:
    assert blocking(text) == (None, 0)


def test_a_deadlock_has_no_end() -> None:
    assert blocking("blocked\t1\t2\t5\tactive\tUPDATE\tX\tb\nblocked\t2\t1\t5\tactive\tUPDATE\tX\tb\n")[0] is None


@pytest.mark.parametrize(
    ("blocker", "activity", "lock"),
    [
        (Blocker(session=1, blocked=1), "-", "-"),
        (Blocker(session=1, blocked=1, statement="UPDATE", mode="X", table="t.a"), "UPDATE", "t.a (X)"),
        (Blocker(session=1, blocked=1, idle=True, table="a"), "idle in transaction", "a (-)"),
        (
            Blocker(session=1, blocked=1, idle=True, statement="UPDATE", mode="ShareLock"),
            "idle in transaction, last statement UPDATE",
            "ShareLock",
        ),
    ],
)
def test_in_words(blocker: Blocker, activity: str, lock: str) -> None:
    assert (str(blocker.activity), str(blocker.lock)) == (activity, lock)
