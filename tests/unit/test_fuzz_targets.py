"""Every parser of outside data: what fuzzing began with and what it has found, and some damaged inputs of each."""

from itertools import islice

import pytest

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import CORPUS, TARGETS, FuzzTarget, SlowError

INPUTS = 60

targets = pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])


@targets
def test_what_is_in_the_corpus(target: FuzzTarget) -> None:
    inputs = list(target.inputs())
    assert inputs
    for data in inputs:
        target(data)


@targets
def test_damaged_inputs(target: FuzzTarget) -> None:
    for data in islice(mutated(list(target.inputs()), seed=1), INPUTS):
        target(data)


def test_every_directory_of_the_corpus_belongs_to_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= {target.name for target in TARGETS}


def test_a_target_that_is_slow_or_raises_is_reported() -> None:
    def spin(_: bytes) -> None:
        sum(range(1_000_000))

    with pytest.raises(SlowError):
        FuzzTarget("slow", spin, most_s=0.0001)(b"")
    with pytest.raises(ZeroDivisionError):
        FuzzTarget("wrong", lambda data: 1 // len(data))(b"")
    FuzzTarget("refused", lambda data: 1 // len(data), (ZeroDivisionError,))(b"")
