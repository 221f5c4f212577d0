"""Where the response time goes in each step, in the reports."""

from typing import Any

from loadtop.reports.tables import largest_parts_by_step
from loadtop.reports.text import breakdown_by_step
from tests.unit.reports.test_compare_breakdown import DATABASE, breakdown, part

CPU = part("cpu", place="apache", ms=2.0)


def step(concurrency: int, told: dict[str, Any] | None) -> dict[str, Any]:
    return {"concurrency": concurrency, "rate": None, "breakdown": told}


STEPS = [
    step(2, breakdown(15.0, 0.5, DATABASE, CPU)),
    step(20, breakdown(120.0, -4.0, DATABASE | {"ms": 104.0}, part("accept-queue", place="80", ms=18.0), CPU)),
]


def test_the_largest_parts_are_named_first_and_the_smallest_left_out() -> None:
    assert largest_parts_by_step(STEPS) == [
        ("2", 15.0, ["calls to mysql 10.0.0.5:3306 12", "apache on CPU 2"]),
        ("20", 120.0, ["calls to mysql 10.0.0.5:3306 104", "accept queue :80 18"]),
    ]


def test_in_the_text_each_step_has_a_line() -> None:
    assert breakdown_by_step(STEPS) == [
        "",
        "Where the time goes in each step (ms)",
        "         2       15  calls to mysql 10.0.0.5:3306 12, apache on CPU 2",
        "        20      120  calls to mysql 10.0.0.5:3306 104, accept queue :80 18",
    ]


def test_long_names_fit_into_the_width() -> None:
    parts = [DATABASE | {"name": f"[2001:db8:1234:5678:9abc:def0:1234:567{n}]:3306"} for n in range(3)]
    lines = breakdown_by_step([step(n, breakdown(36.0, 0.0, *parts)) for n in (1, 2)])
    assert max(map(len, lines)) <= 78
    assert "".join(lines).count("2001:db8") == 6


def test_parts_of_several_machines_have_the_machine() -> None:
    told = breakdown(4.0, 0.0, CPU, CPU | {"host": "web2"})
    ((_, _, parts), _) = largest_parts_by_step([step(1, told), step(2, told)])
    assert parts == ["apache on CPU on web2 2", "apache on CPU on web1 2"]


def test_without_several_steps_or_figures_there_is_nothing() -> None:
    assert largest_parts_by_step(STEPS[:1]) == []
    assert breakdown_by_step([step(1, None), step(2, {**breakdown(4.0, 0.0), "parts": None})]) == []
