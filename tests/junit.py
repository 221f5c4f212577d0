"""JUnit XML as another program reads it."""

from typing import Any, NamedTuple

from junitparser import JUnitXml


class Case(NamedTuple):
    """``result`` is ``Failure``, ``Error``, ``Skipped``, or empty for a test that passed."""

    name: str
    result: str
    message: str


def cases_of(xml: str) -> list[Case]:
    """The test cases; the numbers that the suite states must be theirs."""
    read: Any = JUnitXml.fromstring(xml.encode())
    (suite,) = read
    found: list[Case] = []
    for case in suite:
        (result,) = case.result or [None]
        found.append(Case(case.name, "" if result is None else type(result).__name__, getattr(result, "message", "")))
    results = [case.result for case in found]
    counts = (len(found), *(results.count(kind) for kind in ("Failure", "Error", "Skipped")))
    for stated in (read, suite):
        assert (stated.tests, stated.failures, stated.errors, stated.skipped) == counts
    return found
