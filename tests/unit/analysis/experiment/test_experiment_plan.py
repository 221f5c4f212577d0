"""A PLAN read: its cells, and for every mistake the file, the line and the fix, before anything runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.experiment.plan import ExperimentPlan, line_of
from loadtop.cli import main
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.experiment_plan import read_plan
from tests.unit.analysis.experiment.conftest import PLAN

Write = Callable[[str], Path]


def test_cells_are_variants_times_levels_times_repeats(plan: ExperimentPlan) -> None:
    cells = plan.cells()
    assert [(cell.variant.name, cell.level.label, cell.repeat) for cell in cells] == [
        ("one", "c=1", 1), ("one", "c=10", 1), ("two", "c=1", 1), ("two", "c=10", 1),
        ("one", "c=1", 2), ("one", "c=10", 2), ("two", "c=1", 2), ("two", "c=10", 2),
    ]  # fmt: skip
    assert cells[0].words == ("-k", "-c", "1", "-t", "2", "--warmup", "0.5", "http://127.0.0.1:8000/page.php")
    assert len({cell.key for cell in cells}) == len(cells)


def test_a_valid_plan_is_outlined(write_plan: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", str(write_plan(PLAN)), "--check"]) == 0
    assert ": 2 variants, 8 cells, about" in capsys.readouterr().out
    least = 'requests = 1\nconcurrencies = [1]\n[urls]\na = "http://127.0.0.1/"\n[[variants]]\nname = "one"\n'
    assert main(["experiment", str(write_plan(least)), "--check"]) == 0
    assert capsys.readouterr().out.endswith(": 1 variant, 1 cell\n")


def test_shuffling_can_be_repeated_and_keeps_repeats_together(plan: ExperimentPlan) -> None:
    shuffled = replace(plan, shuffle=True, seed=3)
    assert [cell.key for cell in shuffled.cells()] == [cell.key for cell in shuffled.cells()]
    assert {cell.key for cell in shuffled.cells()} == {cell.key for cell in plan.cells()}
    assert [cell.repeat for cell in shuffled.cells()] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert [cell.key for cell in shuffled.cells()] != [cell.key for cell in plan.cells()]


def test_a_cell_that_means_something_else_has_another_key(plan: ExperimentPlan) -> None:
    longer = replace(plan, time=3.0)
    assert not {cell.key for cell in longer.cells()} & {cell.key for cell in plan.cells()}


def test_variants_may_have_their_own(write_plan: Write) -> None:
    own = (
        'concurrencies = [3]\nrates = [50]\noptions = ["-H", "X-A: 1"]\n[variants.urls]\nother = "http://127.0.0.1/o"\n'
    )
    plan = read_plan(write_plan(PLAN + own))
    cells = [cell for cell in plan.cells() if cell.variant.name == "two" and cell.repeat == 1]
    assert [(cell.url_name, cell.level.label) for cell in cells] == [("other", "c=3"), ("other", "50/s")]
    assert cells[1].words[:5] == ("-k", "-H", "X-A: 1", "--rate", "50")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("repeats = 2", "repeat = 2", 5, "did you mean repeats?"),
        ("time = 2", 'time = "long"', 3, "time must be a number"),
        ("time = 2", "time = 2\nrequests = 5", 4, "set time or requests, not both"),
        ("concurrencies = [1, 10]", "concurrencies = [1, 0]", 6, "got 0"),
        ("concurrencies = [1, 10]", "concurrencies = 5", 6, "write concurrencies = [1, 10, 20]"),
        ("concurrencies = [1, 10]", "# none", 13, "has no load"),
        ('page = "http://127.0.0.1:8000/page.php"', 'page = "127.0.0.1"', 10, "is not a URL"),
        ('page = "http://127.0.0.1:8000/page.php"', 'page = "http://"', 10, "has no host"),
        ('ready = "test -e log"', '[variants.urls]\nown = "ftp://h/"', 20, "is not a URL: write own ="),
        ('ready = "test -e log"', 'urls = "127.0.0.1"', 19, "is not a URL: write urls ="),
        ('ready = "test -e log"', 'urls = { own = "127.0.0.1" }', 19, "is not a URL: write own ="),
        ("[urls]", "[links]", 9, "unknown key 'links'"),
        ('name = "two"', 'name = "one"', 17, "given twice"),
        ('name = "two"', 'name = ""', 17, "name must be a string"),
        ('apply = ["echo one >> log"]', "apply = [1]", 14, "list of strings"),
        ('ready = "test -e log"', "ready_time = -1", 19, "ready_time must be a number"),
        ('ready = "test -e log"', 'host = "web1"', 19, "no host is called web1"),
        ('options = ["-k"]', 'options = ["-n", "5"]', 2, "use requests"),
        ('options = ["-k"]', 'options = ["--nonsense"]', 2, "--nonsense"),
        ('options = ["-k"]', 'options = ["-H", "broken"]', 2, "is not a header"),
        ("repeats = 2", "repeats = 2.5", 5, "whole number"),
        ('title = "Processes"', 'title = "Processes', 1, "invalid TOML"),
    ],
)
def test_a_mistake_is_reported_with_its_line(old: str, new: str, line: int, said: str, write_plan: Write) -> None:
    assert old in PLAN
    file = write_plan(PLAN.replace(old, new))
    with pytest.raises(UsageError) as error:
        read_plan(file)
    assert str(error.value).startswith(f"{file}, line {line}: "), str(error.value)
    assert said in str(error.value)


def test_no_variant_no_experiment(write_plan: Write) -> None:
    with pytest.raises(UsageError, match="there is no variant"):
        read_plan(write_plan('time = 1\nconcurrencies = [1]\nurls = "http://127.0.0.1/"\n'))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_plan(tmp_path / "missing.toml")


def test_where_a_key_stands() -> None:
    assert line_of(PLAN, "", 0, "warmup") == 4
    assert line_of(PLAN, "variants", 1, "apply") == 18
    assert line_of(PLAN, "variants", 1, "missing") == 16
    assert line_of(PLAN, "nowhere", 0, "missing") == 1
