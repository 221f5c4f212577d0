"""The declarations of verdicts: names, letters, words and the ranking of causes."""

import pytest

from loadtop.diagnosis.diagnoser import HEADROOM
from loadtop.diagnosis.verdict import Family, Verdict, explains, ranked
from loadtop.model import Role
from loadtop.servers.registry import VERDICT_NAMES, VERDICTS, verdict_named


def test_names_and_letters_are_unique() -> None:
    verdicts = (HEADROOM, *VERDICTS)
    assert len({each.name for each in verdicts}) == len(verdicts)
    assert len({each.letter for each in verdicts}) == len(verdicts)
    assert VERDICT_NAMES[0] == "none"


def test_everything_that_is_explained_exists() -> None:
    known = {*VERDICT_NAMES, *Family}
    assert [each for verdict in VERDICTS for each in verdict.explains if each not in known] == []


def test_a_cause_comes_before_everything_it_explains() -> None:
    rank = {verdict.name: number for number, verdict in enumerate(VERDICTS)}
    pairs = [(cause, other) for cause in VERDICTS for other in VERDICTS if explains(cause, other)]
    assert len(pairs) > 40
    assert all(rank[cause.name] < rank[other.name] for cause, other in pairs)


def test_the_pool_nearest_to_the_data_explains_those_before_it() -> None:
    pools = [verdict_named(name) for name in ("fpm-workers", "apache-workers", "haproxy-queue")]
    assert [pool.role for pool in pools] == [Role.APPLICATION, Role.WEB, Role.PROXY]
    assert explains(pools[0], pools[1])
    assert explains(pools[1], pools[2])
    assert not explains(pools[2], pools[0])


def test_verdicts_that_explain_each_other_are_refused() -> None:
    one = Verdict("one", "1", "ONE", "", "", Family.STORAGE, explains=("two",))
    two = Verdict("two", "2", "TWO", "", "", Family.STORAGE, explains=("one",))
    with pytest.raises(ValueError, match="one, two"):
        ranked((one, two))
