"""One number over the intervals of a block: where it starts, and a character for each change.

A series of whole numbers is its first value, and a text: ``+``, then for each interval the character (see
:mod:`loadtop.recording.packing`) of the difference from the one before, zigzag: 0, -1, 1, -2 are 0, 1, 2, 3. Where
one of them is too great for a character, the text is a JSON array of their code points instead. Intervals at the end
in which nothing changes are left away, so a number that stays as it is has no text at all.

A series of floats is kept in whole millionths where that is exact for each of them. Where it is not, the first value is
missing and the text is a JSON array of the floats.
"""

import json
from itertools import accumulate
from typing import Any

from loadtop.recording.packing import LIMIT, character, from_points, lengthen, numbers, point, zeros

_LARGEST = (1 << 63) - 1
_EXACT = float(1 << 53)


def whole(number: int) -> int | bytes:
    """A whole number as SQLite can take it: 64 bits, or its digits as a blob."""
    return int(number) if -_LARGEST <= number <= _LARGEST else str(int(number)).encode()


def read_whole(stored: Any) -> Any:
    """The number that :func:`whole` was given; None stays None."""
    return int(stored) if isinstance(stored, bytes) else stored


def real(number: float) -> float | bytes:
    """A float as SQLite can take it: it knows neither NaN nor the sign of zero, which become blobs."""
    if number == 0 or number != number:  # NaN alone differs from itself
        text = repr(float(number))
        return 0.0 if text == "0.0" else text.encode()
    return float(number)


def read_real(stored: Any) -> Any:
    """The float that :func:`real` was given."""
    return float(stored) if isinstance(stored, bytes) else stored


class WholeSeries:
    """A whole number as it is being written. ``sparse``: runs of intervals without a change are shortened."""

    __slots__ = ("_filled", "_points", "_sparse", "_start", "_text", "_value")

    def __init__(self, start: int, *, sparse: bool = False) -> None:
        self._start = self._value = int(start)
        self._text = ""
        self._points: list[int] | None = None
        self._filled = 0
        self._sparse = sparse

    def put(self, position: int, value: int) -> None:
        """The value from this interval of the block on; positions only grow."""
        difference = int(value) - self._value
        if not difference:
            return
        self._value += difference
        code = 2 * difference if difference > 0 else -2 * difference - 1
        gap = position - self._filled
        self._filled = position + 1
        if self._points is not None:
            self._points += [*[point(0)] * gap, point(code)]
        elif code <= LIMIT:
            self._text += (zeros(gap) if self._sparse else " " * gap) + character(code)
        else:
            self._points = [*map(ord, lengthen(self._text)), *[point(0)] * gap, point(code)]

    def stored(self) -> tuple[Any, str | None]:
        """The two columns."""
        if self._points is not None:
            return whole(self._start), json.dumps(self._points, separators=(",", ":"))
        return whole(self._start), "+" + self._text if self._text else None

    def values(self, count: int) -> list[int]:
        """The values so far, the last one repeated."""
        return read_whole_series(*self.stored(), count)


class RealSeries:
    """A float as it is being written. ``sparse`` as for whole numbers."""

    __slots__ = ("_exact", "_micros")

    def __init__(self, start: float, *, sparse: bool = False) -> None:
        micros = _micros(start)
        self._micros = None if micros is None else WholeSeries(micros, sparse=sparse)
        self._exact: list[str] = [] if self._micros else [_json_number(start)]

    def put(self, position: int, value: float) -> None:
        """The value from this interval of the block on; positions only grow."""
        if self._micros is not None:
            micros = _micros(value)
            if micros is not None:
                self._micros.put(position, micros)
                return
            self._exact = [_json_number(micros / 1e6) for micros in self._micros.values(position + 1)]
            self._micros = None
        self._exact.extend(self._exact[-1:] * (position - len(self._exact)))
        self._exact[position:] = [_json_number(value)]

    def stored(self) -> tuple[Any, str | None]:
        """The two columns."""
        if self._micros is not None:
            return self._micros.stored()
        return None, f"[{','.join(self._exact)}]"


def read_whole_series(start: Any, text: str | None, count: int) -> list[int]:
    """The values in ``count`` intervals. Raises ValueError or TypeError for what is no series."""
    first: int = read_whole(start)
    if text is None:
        return [first] * count
    codes = from_points(json.loads(text)) if text[0] == "[" else numbers(lengthen(text[1:]))
    values = list(accumulate([(code >> 1) ^ -(code & 1) for code in codes], initial=first))
    values.extend(values[-1:] * (count - len(values) + 1))
    return values[1 : count + 1]


def read_real_series(start: Any, text: str | None, count: int) -> list[float]:
    """The values in ``count`` intervals. Raises ValueError or TypeError for what is no series."""
    if start is not None:
        return [micros / 1e6 for micros in read_whole_series(start, text, count)]
    values = [float(value) for value in json.loads(text or "")]
    values.extend(values[-1:] * (count - len(values)))
    return values[:count]


def _micros(value: float) -> int | None:
    """The float in millionths, where these are it exactly."""
    scaled = value * 1e6
    if not -_EXACT < scaled < _EXACT:
        return None
    micros = round(scaled)
    return micros if micros / 1e6 == value and (micros or repr(float(value)) == "0.0") else None


def _json_number(value: float) -> str:
    """A float as JSON has it; it knows no infinity, but SQLite and Python both read 1e999 as one."""
    if value != value:
        return '"nan"'
    if value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(float(value))
