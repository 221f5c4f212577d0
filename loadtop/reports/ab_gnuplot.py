"""ab's -g: every request by itself, a line each, in a form that gnuplot reads."""

import time
from array import array
from typing import TextIO

import numpy as np

from loadtop.generator.journal import ROW

HEADER = "starttime\tseconds\tctime\tdtime\tttime\twait\n"
_BATCH = 10_000


def write_gnuplot(rows: "array[int]", out: TextIO) -> None:
    """Write the rows of :mod:`loadtop.generator.journal`, of this machine since it started, sorted by total time as
    ab sorts them. Times are whole milliseconds, rounded as ab rounds; a start is local time, and seconds since 1970."""
    table = np.frombuffer(rows, np.int64).reshape(-1, ROW)
    table = table[np.argsort(table[:, 1], kind="stable")]
    clock = time.time_ns() - time.perf_counter_ns()
    seconds = (table[:, 0] + clock) // 1_000_000_000
    total, connect, waiting = (table[:, column] // 1000 for column in (1, 2, 3))
    columns = [seconds, _ms(connect), _ms(total - connect), _ms(total), _ms(waiting)]
    names = {second: time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(second)) for second in set(seconds.tolist())}
    out.write(HEADER)
    for start in range(0, len(table), _BATCH):
        batch = zip(*(column[start : start + _BATCH].tolist() for column in columns), strict=True)
        out.write("".join(f"{names[row[0]]}\t" + "\t".join(map(str, row)) + "\n" for row in batch))


def _ms(microseconds: "np.typing.NDArray[np.int64]") -> "np.typing.NDArray[np.int64]":
    return (microseconds + 500) // 1000
