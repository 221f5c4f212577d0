"""The rows of ``-g`` sorted by their total time, in pieces: memory does not grow with the number of requests.

The files of the workers are sorted run by run, in place. Samples of all runs then divide them into ranges of times, and
each range is read from every run ("parallel sorting by regular sampling", Shi and Schaeffer, 1992: no range has more
than twice as many rows as a run).
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loadtop.generator.request_log import ROW

RUN = 1 << 18  # rows that are sorted at once: 8 MB
_TOTAL = 1  # the column with the total time

RowArray: TypeAlias = "NDArray[np.int64]"


def sorted_by_total(files: Sequence[BinaryIO], run_rows: int = RUN) -> Iterator[RowArray]:
    """Yield the rows of all files in their order, as tables with :data:`ROW` columns. The files are changed. A row that
    was cut short when a worker ended is left out."""
    runs = [run for file in files for run in _sorted_runs(file, run_rows)]
    if not runs:
        return
    samples = np.sort(np.concatenate([run[:: max(1, run_rows // len(runs)), _TOTAL] for run in runs]))
    limits: list[Any] = [*samples[len(runs) :: len(runs)].tolist(), None]
    starts = [0] * len(runs)
    for limit in limits:
        ends = [
            len(run) if limit is None else bisect_right(run[:, _TOTAL], limit, start)
            for run, start in zip(runs, starts, strict=True)
        ]
        table = np.concatenate([run[start:end] for run, start, end in zip(runs, starts, ends, strict=True)])
        starts = ends
        if len(table):
            yield table[np.argsort(table[:, _TOTAL], kind="stable")]


def _sorted_runs(file: BinaryIO, run_rows: int) -> Iterator[RowArray]:
    """Sort each run of a file in place; yield the runs, which are not read into memory."""
    size = ROW * np.dtype(np.int64).itemsize
    rows = os.fstat(file.fileno()).st_size // size
    if not rows:
        return
    table = np.memmap(file, np.int64, "r+", shape=(rows, ROW))
    for start in range(0, rows, run_rows):
        run = table[start : start + run_rows]
        run[:] = run[np.argsort(run[:, _TOTAL], kind="stable")]
        yield run
