"""What the lab found, for the table at its end."""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct


class Result(Struct, frozen=True):
    """One line of the table. ``seconds`` from the onset of the limit to the verdict on it."""

    scenario: str
    expected: str
    found: str
    seconds: float | None

    def __str__(self) -> str:
        seconds = "-" if self.seconds is None else f"{self.seconds:.1f} s"
        return f"{self.scenario:36} {self.expected:16} {self.found:16} {seconds}"


HEADING = f"{'scenario':36} {'expected':16} {'found':16} onset to verdict"
Report = Callable[[Result], None]


def confusion(results: Sequence[Result]) -> list[str]:
    """How often each expected limit was found to be which: rows and columns by name."""
    counts = Counter((result.expected, result.found) for result in results)
    rows = sorted({result.expected for result in results})
    columns = sorted({*rows, *(result.found for result in results)})
    lines = [" " * 16 + " ".join(name[:9].rjust(9) for name in columns)]
    for row in rows:
        cells = (str(counts[row, column]) if counts[row, column] else "." for column in columns)
        lines.append(row.ljust(16) + " ".join(cell.rjust(9) for cell in cells))
    return lines
