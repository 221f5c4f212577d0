"""What is read from a recording equals what was written to it, to the bit."""

import types
from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from loadtop.diagnosis.finding import Diagnosis, Finding
from loadtop.i18n import Message, plural
from loadtop.model import Distribution, Frame, HostSample, HostState, LoadSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measured
from loadtop.recording.container import MAX_UNIX_TIME
from loadtop.recording.reader import Session
from loadtop.servers.registry import KINDS
from tests.unit.recording.made import META, record

WHOLE = st.one_of(st.integers(0, 90), st.integers(0, 1 << 32), st.integers(-(1 << 70), 1 << 70))
REAL = st.floats(allow_nan=False)
TIMES = st.floats(0, MAX_UNIX_TIME)
WORDS = st.one_of(
    st.sampled_from(["", "a", "eth0", "WWWWWWWW____....", "\x1b[2J", "[1,2]", "\udcff\x00é"]),
    st.text(st.characters(exclude_characters="@="), max_size=8),
)


def _message(text: str, n: int) -> Message:
    return plural(n, "one {text}", "{n} {text}", text=text)


PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: WHOLE,
    float: REAL,
    str: WORDS,
    bool: st.booleans(),
    type(None): st.none(),
    Message: st.builds(_message, WORDS, st.integers(-9, 9)),
}


_strategies: dict[Any, st.SearchStrategy[Any]] = {}


def some(kind: Any) -> st.SearchStrategy[Any]:
    """Anything of a type of the model. Making a strategy takes longer than drawing from it, so each is made once."""
    if kind not in _strategies:
        _strategies[kind] = _some(kind)
    return _strategies[kind]


def _some(kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, types.UnionType):
        return st.one_of(*(some(option) for option in get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(some(get_args(kind)[0]), max_size=2).map(tuple)
    if get_origin(kind) is Mapping:
        readings = {known.name: st.lists(some(known.record), max_size=2).map(tuple) for known in KINDS}
        return st.fixed_dictionaries({}, optional=readings)
    if kind is Distribution:
        return distributions()
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind)
        return st.builds(cast("Any", kind), **{name: some(hints[name]) for name in kind.__struct_fields__})
    return st.sampled_from(cast("type[StrEnum]", kind))


@st.composite
def distributions(draw: st.DrawFn) -> Distribution:
    buckets = draw(st.lists(st.integers(0, 5000), max_size=6))
    counts = [draw(st.integers(0, 1 << 20)) for _ in buckets]
    count, sum_us, sum_squares_us2, min_us, max_us = (draw(WHOLE) for _ in range(5))
    return Distribution(count, sum_us, sum_squares_us2, min_us, max_us, tuple(buckets), tuple(counts))


@st.composite
def sample_series(draw: st.DrawFn) -> list[HostSample]:
    """Samples of one machine: each is one before it with some of its parts replaced."""
    first = draw(some(HostSample))
    names = st.sets(st.sampled_from(HostSample.__struct_fields__))
    mixed = draw(st.lists(names, max_size=2))
    other = draw(some(HostSample)) if mixed else first
    return [first, *(replace(first, **{name: getattr(other, name) for name in kept}) for kept in mixed)]


FINDING = {name: some(hint) for name, hint in get_type_hints(Finding).items() if name != "symptoms"}
FINDINGS = st.recursive(
    st.builds(Finding, **FINDING),
    lambda inner: st.builds(Finding, **FINDING, symptoms=st.lists(inner, max_size=2).map(tuple)),
    max_leaves=3,
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Snapshot]:
    """Some frames of up to three machines with their diagnoses, time going on."""
    machines = draw(st.lists(st.tuples(WORDS, WORDS, sample_series()), max_size=2))
    loads = [None, *draw(st.lists(some(LoadSample), max_size=2))]
    snapshots: list[Snapshot] = []
    for number in range(draw(st.integers(1, 6))):
        hosts = tuple(
            HostState(name, role, draw(st.sampled_from([None, *samples])), draw(st.booleans()), draw(WORDS))
            for name, role, samples in machines
            if draw(st.booleans())
        )
        marks = tuple(draw(st.lists(WORDS, max_size=2)))
        frame = Frame(draw(WHOLE), float(number), draw(TIMES), draw(st.sampled_from(loads)), hosts, marks)
        verdict = draw(FINDINGS)
        found = draw(st.lists(st.sampled_from([verdict, *verdict.symptoms]), max_size=2))
        snapshots.append(Snapshot(Measured(frame, None, ()), Diagnosis(verdict, tuple(found))))
    return snapshots


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@settings(
    max_examples=settings().max_examples * 3 // 10,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(snapshots=sessions())
def test_everything_comes_back(snapshots: list[Snapshot]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.loadtop"
        assert record(path, snapshots).problem == ""
        with Session(path) as session:
            assert list(session.frames()) == [snapshot.measured.frame for snapshot in snapshots]
            shown = [
                (snapshot.at, v.bottleneck, v.host) for snapshot in snapshots for v in (snapshot.diagnosis.verdict,)
            ]
            changes = [each for before, each in pairwise([(0.0, None, None), *shown]) if before[1:] != each[1:]]
            assert session.verdict_changes() == changes
            assert [text for _, text in session.marks()] == [
                mark for snapshot in snapshots for mark in snapshot.measured.frame.marks
            ]
            assert session.meta == META
            assert session.duration == len(snapshots) - 1.0
            assert session.damage == []
