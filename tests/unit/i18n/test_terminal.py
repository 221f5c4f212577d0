"""Text in columns: East Asian characters take two cells."""

import pytest

from loadtop.i18n import pad, width
from loadtop.reports.text import wrapped


def test_columns_count_wide_characters() -> None:
    assert width("限界 a") == 6
    assert pad("限界", 6) == "限界  "
    assert pad("限界", 6, right=True) == "  限界"
    assert width("e\u0301") == 1


@pytest.mark.parametrize("cells", range(8, 30))
def test_no_line_ends_with_an_opening_bracket_or_begins_with_a_stop(cells: int) -> None:
    lines = wrapped("接続できません\uff08権限がないか、待ち受けなし\uff09。port 80\uff08http\uff09", "", cells)
    assert all(width(line) <= cells + 4 for line in lines)
    assert not [line for line in lines if line.endswith("\uff08") or line[0] in "、。\uff09"]
