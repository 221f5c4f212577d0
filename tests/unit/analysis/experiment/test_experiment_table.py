"""The table: repeats together, what is missing stays missing, nothing hostile gets through."""

import csv
import io

import pytest
from msgspec import structs
from msgspec.structs import replace

from loadtop.analysis.experiment.plan import ExperimentPlan
from loadtop.analysis.experiment.results import CellResult
from loadtop.reports import experiment as table
from tests.unit.analysis.experiment.conftest import a_result


@pytest.fixture
def results(plan: ExperimentPlan) -> dict[str, CellResult]:
    return {
        cell.key: a_result(cell, 100.0 + 10 * cell.repeat, bottleneck="cpu" if cell.repeat == 1 else "none")
        for cell in plan.cells()
        if cell.variant.name == "one"
    }


def test_repeats_come_together(plan: ExperimentPlan, results: dict[str, CellResult]) -> None:
    rows = table.rows(plan, results)
    assert [(row.variant, row.level, len(row.results)) for row in rows] == [
        ("one", "c=1", 2), ("one", "c=10", 2), ("two", "c=1", 0), ("two", "c=10", 0),
    ]  # fmt: skip
    assert rows[0].mean("rps") == pytest.approx(115.0)
    assert rows[0].spread_pct == pytest.approx(100 * 10 / 115)
    assert rows[0].verdict == "cpu 1/2 none 1/2"
    assert (rows[2].mean("rps"), rows[2].spread_pct, rows[2].failed) == (None, None, None)
    assert rows[0].failed is not None


def test_every_form_holds_the_same(plan: ExperimentPlan, results: dict[str, CellResult]) -> None:
    rows = table.rows(plan, results)
    read = list(csv.DictReader(io.StringIO(table.as_csv(rows))))
    assert (read[0]["rps"], read[0]["swap_used_pct"], read[2]["rps"]) == ("115.0", "", "")
    assert (read[0]["failed"], read[2]["failed"]) == ("0.0", "")
    figures = table.as_json(plan, rows)
    assert figures["schema"] == "loadtop.experiment/1"
    assert not figures["complete"]
    assert figures["rows"][0]["rps"] == 115.0
    assert figures["rows"][2]["rps"] is None
    assert [cell["rps"] for cell in figures["rows"][0]["cells"]] == [110.0, 120.0]
    assert "| one | page | c=1 | 2 |" in table.markdown(plan, rows)
    text = table.text(plan, rows)
    assert "req/s" in text
    assert "115" in text


@pytest.mark.parametrize(("slowest", "warned"), [(90.6, False), (90.4, True)])
def test_warns_of_repeats_that_differ(plan: ExperimentPlan, slowest: float, warned: bool) -> None:
    """By more than 10 % of their mean: 9.4 of 95.3 are 9.9 %, 9.6 of 95.2 are 10.1 %."""
    first = plan.cells()[0]
    others = [cell for cell in plan.cells() if cell.repeat == 2]
    repeat = next(cell for cell in others if cell.label == first.label)
    found = {first.key: a_result(first, 100.0), repeat.key: a_result(repeat, slowest)}
    found |= {cell.key: a_result(cell, 50.0) for cell in plan.cells() if cell.key not in found}
    rows = table.rows(plan, found)
    said = table.as_json(plan, rows)["warnings"]
    assert len(said) == warned
    for text in (table.text(plan, rows), table.markdown(plan, rows)):
        assert text.count("repeats differ") == warned
        if warned:
            assert said[0] in text
    assert not warned or said[0].startswith("one page c=1: repeats differ by 10 % (90.4 to 100 requests/s)")


def test_hostile_names_are_made_safe(plan: ExperimentPlan, results: dict[str, CellResult]) -> None:
    hostile = structs.replace(plan, title="a\x1b[31m")
    unequal = {
        cell.key: replace(results[cell.key], rps=100.0 * cell.repeat) for cell in plan.cells() if cell.key in results
    }
    rows = [replace(row, variant="x|\x1b]0;y") for row in table.rows(plan, unequal)]
    assert table.warnings(rows)
    for text in (table.text(hostile, rows), table.markdown(hostile, rows)):
        assert "\x1b" not in text
    assert "x\\|" in table.markdown(hostile, rows)


def test_a_spreadsheet_computes_no_name(plan: ExperimentPlan, results: dict[str, CellResult]) -> None:
    rows = [replace(row, variant="=1+1", url_name="@x") for row in table.rows(plan, results)]
    for row in csv.DictReader(io.StringIO(table.as_csv(rows))):
        assert (row["variant"], row["url"]) == ("'=1+1", "'@x")
