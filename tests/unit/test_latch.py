"""How a finding is raised, kept and dropped, interval by interval.

A course is a word of letters: ``o`` over the threshold, ``h`` only above the lower one, ``.`` below both, ``c`` over
and certain, ``?`` nothing measured, ``-`` no sample of the machine. What is found is ``1``.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.cpu import CPU
from loadtop.diagnosis.diagnoser import Latch
from loadtop.diagnosis.finding import Evidence, Finding
from loadtop.diagnosis.verdict import Assessment, Row, agreement, exceeds
from loadtop.diagnosis.waiting import WAITING
from loadtop.i18n import Message
from loadtop.model import LoadSample, LoadState
from tests.unit.known import known


def assessed(letter: str, number: int = 0) -> Assessment | None:
    if letter in "?-":
        return None
    evidence = (
        Row("cpu.busy_pct", float(number), 90.0, "%", "PCP"),
        Row("running", None, 2, "tasks", "USE", below=True),
    )
    return Assessment(letter in "oc", letter in "och", evidence, lambda: Message("{n}", n=number), 1.0, letter == "c")


def run(course: str, latch: Latch | None = None) -> list[Finding | None]:
    latch = latch or Latch(CPU, "web1")
    return [
        latch.update(number, number + 1.0, assessed(letter, number), silent=letter == "-")
        for number, letter in enumerate(course)
    ]


@pytest.mark.parametrize(
    ("course", "found"),
    [
        ("o.o.", "0011"),  # two of three
        ("o..o", "0000"),
        ("oo...", "01110"[:4] + "0"),  # dropped after three below
        ("oo..h..", "0111111"),
        ("oo..h...", "01111110"),
        ("oo...oo", "0111001"),  # and found again by two others
        ("h" * 5, "00000"),
        ("c...", "1110"),
        (".c", "01"),
        ("o?o", "001"),
        ("o???o", "00000"),  # three without a figure forget what was over
        ("oo??.", "01110"),  # what is not measured counts as below
        ("oo" + "-" * 10, "01" + "1" * 9 + "0"),  # but a machine that is silent is given ten
        ("oo" + "-" * 8 + "o" + "-" * 9, "01" + "1" * 17 + "1"),
    ],
)
def test_courses(course: str, found: str) -> None:
    assert "".join("0" if each is None else "1" for each in run(course)) == found


def test_while_the_load_drains_evidence_and_advice_stay() -> None:
    latch = Latch(CPU, "web1")
    run("ooo", latch)
    for number in range(3, 9):
        found = latch.update(number, number + 1.0, assessed("o", number), drains=True)
        assert found is not None
        assert found.evidence[0].value == 2.0
        assert str(found.advice) in "012"
    assert known(latch.update(9, 10.0, assessed("o", 9))).evidence[0].value == 9.0


@pytest.mark.parametrize("calm", [".", "h", "oo..."])
def test_while_the_load_drains_evidence_is_not_that_of_a_calm_interval(calm: str) -> None:
    latch = Latch(CPU, "web1")
    run(calm, latch)
    found = [latch.update(number, number + 1.0, assessed("o", number), drains=True) for number in (7, 8, 9)]
    assert [known(each).evidence[0].value for each in found[1:]] == [7.0, 7.0]


@pytest.mark.parametrize(
    ("changes", "drains"),
    [
        ({"elapsed_s": 8.0}, False),
        ({"elapsed_s": 8.0, "target_s": 8.0}, False),
        ({"elapsed_s": 8.1, "target_s": 8.0}, True),
        ({"elapsed_s": 9.0, "requests": 89, "in_flight": 10, "target_requests": 100}, False),
        ({"elapsed_s": 9.0, "requests": 90, "in_flight": 10, "target_requests": 100}, True),
        ({"elapsed_s": 9.0, "requests": 90, "in_flight": None, "target_requests": 100}, False),
    ],
)
def test_a_load_drains_when_all_is_sent(changes: dict[str, Any], drains: bool) -> None:
    load = LoadSample(1.0, "builtin", LoadState.RUNNING, "closed", 0.0)
    assert replace(load, **changes).drains is drains


def test_waiting_takes_all_three() -> None:
    latch = Latch(WAITING, None)
    assert [each is not None for each in run("oo.ooo", latch)] == [False] * 5 + [True]


def test_a_finding_is_dated_from_the_first_interval_over() -> None:
    first, second = (each for each in run(".o.oo")[3:])
    assert first is not None
    assert second is not None
    assert (first.since_s, first.held_s, second.held_s) == (1.0, 3.0, 4.0)
    assert (first.bottleneck, first.host, first.confidence) == ("cpu", "web1", 1.0)
    (found,) = (each for each in run("..c") if each is not None)
    assert (found.since_s, found.held_s) == (2.0, 1.0)


def test_evidence_is_that_of_the_newest_interval_over_and_advice_stays_for_three() -> None:
    found = [each for each in run("oohooooo") if each is not None]
    assert [each.evidence[0].value for each in found] == [1.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert [str(each.advice) for each in found] == ["1", "1", "1", "4", "4", "4", "7"]
    assert found[0].evidence == (Evidence("cpu.busy_pct", "web1", 1.0, 90.0, "%", "PCP"),)
    again = [each for each in run("oo...oo") if each is not None]
    assert [str(each.advice) for each in again] == ["1", "1", "1", "6"]


def test_evidence_without_host_belongs_to_its_name_prefix() -> None:
    latch = Latch(CPU, None)
    found = latch.update(
        0.0, 1.0, Assessment(True, True, (Row("load.rps", 1.0, 2.0, "/s", "x", below=True),), Message("a"), 1.0, True)
    )
    assert found is not None
    assert found.evidence == (Evidence("load.rps", "load", 1.0, 2.0, "/s", "x", below=True),)


@pytest.mark.parametrize(
    ("votes", "confidence"),
    [((), 0.9), ((True,), 1.0), ((False,), 0.9), ((None,), 0.95), ((True, False), 0.95), ((None, False, True), 0.95)],
)
def test_confidence_grows_with_the_votes_that_agree(votes: tuple[bool | None, ...], confidence: float) -> None:
    assert agreement(*votes) == confidence
    assert [exceeds(value, 1.0) for value in (None, 1.0, 1.1)] == [None, False, True]
