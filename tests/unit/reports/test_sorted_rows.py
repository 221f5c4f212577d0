"""The rows of -g are sorted in pieces, however many there are."""

import tempfile
from array import array
from collections.abc import Callable, Iterator
from io import StringIO
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.reports.ab import GNUPLOT_HEADER, write_gnuplot
from loadtop.reports.sorted_rows import sorted_by_total

TIMES = st.lists(st.integers(0, 50), max_size=60)


def log(totals: list[int], first: int = 0) -> BinaryIO:
    """The file of a worker: the starts number the rows."""
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - ends with the test
    file.writelines(array("q", (number, total, 1, 2)).tobytes() for number, total in enumerate(totals, first))
    file.flush()
    return file


@given(st.lists(TIMES, max_size=4), st.integers(1, 9))
def test_it_equals_sorting_everything(workers: list[list[int]], run: int) -> None:
    files = [log(totals, 1000 * number) for number, totals in enumerate(workers)]
    tables = list(sorted_by_total(files, run))
    expected = sorted(total for totals in workers for total in totals)
    found = [row for table in tables for row in table.tolist()]
    assert [row[1] for row in found] == expected
    assert sorted(row[0] for row in found) == [1000 * i + j for i, each in enumerate(workers) for j in range(len(each))]
    for file in files:
        file.close()


def test_no_piece_is_much_larger_than_a_run() -> None:
    draw = np.random.default_rng(1)
    files = [log(draw.integers(0, 10**9, 3000).tolist()) for _ in range(3)]
    sizes = [len(table) for table in sorted_by_total(files, 100)]
    assert sum(sizes) == 9000
    assert max(sizes) <= 200
    for file in files:
        file.close()


@pytest.fixture
def cut_short() -> Iterator[Callable[[], BinaryIO]]:
    file = log([2_000_000, 1_000_000])
    file.write(b"half")
    file.flush()
    yield lambda: file
    file.close()


def test_a_row_that_was_cut_short_is_left_out(cut_short: Callable[[], BinaryIO]) -> None:
    out = StringIO()
    write_gnuplot([cut_short()], out)
    header, *rows = out.getvalue().splitlines()
    assert f"{header}\n" == GNUPLOT_HEADER
    assert [row.split("\t")[4] for row in rows] == ["1", "2"]


def test_without_requests_there_is_the_header_alone() -> None:
    with tempfile.TemporaryFile() as nothing:
        out = StringIO()
        write_gnuplot([nothing], out)
    assert out.getvalue() == GNUPLOT_HEADER
