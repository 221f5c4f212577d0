"""The rules of ``--fail-if`` as JUnit XML, which CI servers show as tests: one test case for each rule.

There is no standard. Elements and attributes are those on which Ant's, Maven's and Jenkins' schemas agree.
"""

import socket
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from loadtop.analysis.fail_if import RuleOutcome
from loadtop.analysis.statistic import Json
from loadtop.i18n.outside import plain, printable
from loadtop.reports.rules import cannot_tell, sentence

NAME = "loadtop"
_ISO_SECONDS = len("2026-01-31T12:00:00")


def junit(summary: Json, outcomes: Sequence[RuleOutcome], report: str, error: str = "") -> str:
    """The XML, with a line end. ``report`` becomes the output of the tests; ``error`` says why there was no load to
    judge, which every test case has then."""
    cases = [_case(outcome, error) for outcome in outcomes]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    numbers = {name: str(number) for name, number in counts.items()}
    seconds = f"{summary['duration_s']:.3f}"
    root = Element("testsuites", {"name": NAME, **numbers, "time": seconds})
    subject = plain(summary["url"] or "")
    suite = SubElement(
        root,
        "testsuite",
        {
            "name": f"{NAME} {subject}".rstrip(),
            **numbers,
            "time": seconds,
            "timestamp": summary["started"][:_ISO_SECONDS],
            "hostname": plain(socket.gethostname()),
        },
    )
    suite.extend(cases)
    SubElement(suite, "system-out").text = printable(report)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(outcome: RuleOutcome, error: str) -> Element:
    condition = outcome.condition
    case = Element("testcase", {"classname": f"{NAME}.fail-if", "name": plain(condition.text), "time": "0"})
    if error:
        SubElement(case, "error", {"type": "load", "message": plain(error)})
    elif outcome.broken:
        SubElement(case, "failure", {"type": "fail-if", "message": f"{plain(condition.text)}: {sentence(outcome)}"})
    elif not outcome.measured or (condition.beyond is not None and not outcome.compared):
        SubElement(case, "skipped", {"message": "not measured"})
    elif cannot_tell(outcome):
        SubElement(case, "skipped", {"message": sentence(outcome)})
    elif condition.beyond is not None:
        SubElement(case, "system-out").text = sentence(outcome)
    return case
