"""A dependency and a lock are named in every report: the service by kind and address, the lock by its file."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.comparison import Run, compare
from loadtop.analysis.totals.totals import RunResult
from loadtop.cli.printer import line
from loadtop.diagnosis.finding import Dependency, Diagnosis, Finding
from loadtop.i18n import Message
from loadtop.model import FileLock
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.compare import as_json, text
from loadtop.reports.html import html
from loadtop.reports.tables import markdown
from loadtop.reports.text import report
from tests.unit.recording.made import added_up, moments

DATABASE, SERVICE = Dependency("10.0.0.5:3306", "mysql"), Dependency("10.0.0.5:7777", None)
WATCHED = replace(DATABASE, host="db1")
BY_INODE = FileLock("posix", "fe:00", 9977858, 26171, "php-fpm8.2", 11)
BY_PATH = replace(BY_INODE, kind="flock", path="/var/lib/php/sess1a")
NAMES: dict[Dependency | FileLock, str] = {
    DATABASE: "mysql at 10.0.0.5:3306",
    SERVICE: "10.0.0.5:7777",
    WATCHED: "mysql at db1 (10.0.0.5:3306)",
    BY_INODE: "fcntl lock on device fe:00 inode 9977858",
    BY_PATH: "flock on /var/lib/php/sess1a",
}


def under(subject: Dependency | FileLock) -> list[Snapshot]:
    """Ten intervals in which this is the limit."""
    finding = Finding("lock", "web1", 0.0, 9.0, 0.9, (), Message(""))
    if isinstance(subject, Dependency):
        finding = replace(finding, bottleneck="dependency", dependency=subject)
    else:
        finding = replace(finding, lock=subject)
    return [replace(each, diagnosis=Diagnosis(finding, (finding,))) for each in moments(10)]


def result_of(subject: Dependency | FileLock) -> RunResult:
    return added_up(under(subject))


@pytest.mark.parametrize("subject", NAMES)
def test_every_report_names_it(subject: Dependency | FileLock) -> None:
    result, name = result_of(subject), NAMES[subject]
    assert report(result).startswith(f"{name} is the limit on web1")
    assert f"**{name} is the limit on web1" in markdown(result)
    assert f"<strong>{name} is the limit on web1" in html(result)
    assert f"{name} on web1" in line(under(subject)[-1])
    (limit,) = result.summary["limits"]
    assert limit.get("dependency") == result.summary["verdict"]["dependency"]
    assert limit.get("lock") == result.summary["verdict"]["lock"]


def test_a_comparison_takes_two_services_for_two_limits() -> None:
    first, second = (Run(Path(f"{name}.loadtop"), result_of(at)) for name, at in (("a", DATABASE), ("b", SERVICE)))
    told = compare([first, second, first], 10)
    assert "limit: dependency mysql at 10.0.0.5:3306 in A, dependency 10.0.0.5:7777 in B\n" in text(told)
    assert "the same limit: dependency mysql at 10.0.0.5:3306\n" in text(told)
    assert [each["same_verdict"] for each in as_json(told)["conclusions"]] == [False, True]


def test_locks_of_two_files_are_the_same_limit() -> None:
    """PHP has a file for each session."""
    runs = [Run(Path(f"{name}.loadtop"), result_of(lock)) for name, lock in (("a", BY_INODE), ("b", BY_PATH))]
    assert "the same limit: lock flock on /var/lib/php/sess1a\n" in text(compare(runs, 10))


def test_they_are_named_in_japanese(japanese: None) -> None:  # noqa: ARG001 (the language)
    assert report(result_of(DATABASE)).startswith("10.0.0.5:3306 の mysql が限界です")
