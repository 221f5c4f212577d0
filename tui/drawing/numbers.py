"""Numbers as text of a fixed width, so that the screen does not jump when they change. ``None`` is "-", never 0."""

ABSENT = "-"  # shown for what was not measured

_SIZES = ("kB", "MB", "GB", "TB", "PB")


def grouped(value: float) -> str:
    """A whole number with separators: ``21,000``."""
    return f"{value:,.0f}"


def count(value: float | None, cells: int = 0) -> str:
    """A number of things, right-aligned in ``cells``: whole, with separators, from a million on short."""
    if value is None:
        text = ABSENT
    elif value >= 999_999.5:
        text = f"{value / 1e6:.{1 if value < 99_950_000 else 0}f} M"
    else:
        text = grouped(value)
    return text.rjust(cells)


def per_second(value: float | None, cells: int = 0) -> str:
    """A rate in three or four figures: ``6.72``, ``67.2``, ``1,640``."""
    return _in_figures(value, cells, 9.995, 99.95)


def milliseconds(value: float | None, cells: int = 0) -> str:
    """A duration in ms without its unit: ``0.42``, ``4.2``, ``42``, ``1,640``."""
    return _in_figures(value and max(value, 0.01), cells, 0.995, 9.95)


def _in_figures(value: float | None, cells: int, two_digits: float, one_digit: float) -> str:
    """Two digits after the point below ``two_digits``, one below ``one_digit``, none above; 0 has none either."""
    if not value or value >= one_digit:
        return count(value, cells)
    return f"{value:.{2 if value < two_digits else 1}f}".rjust(cells)


def percent(value: float | None, cells: int = 3) -> str:
    """A share without its sign, right-aligned; only exact values are shown as 0 or 100."""
    if value is None:
        text = ABSENT
    elif 0 < value < 0.5:
        text = "<1"
    elif 99.5 <= value < 100:
        text = "99"
    else:
        text = f"{value:.0f}"
    return text.rjust(cells)


def size(kilobytes: float | None, cells: int = 0) -> str:
    """An amount of bytes given in kB (1024), with its unit: ``9.1 MB``."""
    if kilobytes is None:
        return ABSENT.rjust(cells)
    value, unit = kilobytes, 0
    while value >= 999.5 and unit < len(_SIZES) - 1:
        value /= 1024
        unit += 1
    digits = 1 if value < 9.95 and (unit or value % 1) else 0
    return f"{value:.{digits}f} {_SIZES[unit]}".rjust(cells)


def speed(kilobytes: float | None, cells: int = 0) -> str:
    """Bytes per second given in kB/s: ``84 MB/s``."""
    return ABSENT.rjust(cells) if kilobytes is None else f"{size(kilobytes)}/s".rjust(cells)


def quantity(value: float, unit: str) -> str:
    if unit == "kB/s":
        return speed(value)
    if unit == "kB":
        return size(value)
    if unit == "%":
        return f"{percent(value, 0)} %"
    if unit == "ms":
        return f"{milliseconds(value)} ms"
    if unit == "/s":
        return f"{per_second(value)}/s"
    return f"{count(value) if value == int(value) else per_second(value)} {unit}".strip()
