"""A terminal's screen and lines: whatever a program writes, however it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from loadtop.engines.output import LineSplitter
from loadtop.engines.terminal import Screen

PIECES = st.sampled_from(
    [b"\x1b", b"[", b"]", b"?", b">", b"0", b"1", b";", b"9999", b"m", b"H", b"r", b"h", b"l", b"K", b"J", b"S", b"P",
     b"X", b"c", b"#8", b"(0", b"\r", b"\n", b"\t", b"\x0e", b"\x9b", b"\xe4\xb8\xad", b"\xcc\x81", b"\xff", b"text"]
)  # fmt: skip


def shown(screen: Screen, back: int = 0) -> list[str]:
    return ["".join(run.text for run in runs).rstrip() for runs in screen.lines(back)]


def test_text_and_colours() -> None:
    screen = Screen(20, 3)
    screen.feed(b"\x1b[1mbold\x1b[0m plain \x1b[7mturned\x1b[0m\r\nnext")
    first = screen.lines()[0]
    assert [(run.text, run.bold, run.reverse) for run in first[:3]] == [
        ("bold", True, False),
        (" plain ", False, False),
        ("turned", False, True),
    ]
    assert shown(screen) == ["bold plain turned", "next", ""]
    assert screen.cursor == (4, 1)


def test_scrolled_lines_are_kept() -> None:
    screen = Screen(10, 3)
    screen.feed(b"\r\n".join(b"line %d" % number for number in range(10)))
    assert (shown(screen), screen.scrollback) == (["line 7", "line 8", "line 9"], 7)
    assert shown(screen, 2) == ["line 5", "line 6", "line 7"]
    assert shown(screen, 100) == ["line 0", "line 1", "line 2"]


def test_another_size() -> None:
    screen = Screen(10, 4)
    screen.feed(b"abc")
    screen.resize(5, 2)
    assert screen.size == (5, 2)
    assert shown(screen) == ["abc", ""]


def test_fewer_rows_keep_the_one_with_the_cursor() -> None:
    screen = Screen(10, 6)
    screen.feed(b"a\r\nb\r\nc\r\nd")
    screen.resize(10, 3)
    assert (shown(screen), screen.scrollback, screen.cursor) == (["b", "c", "d"], 1, (1, 2))
    screen.feed(b"\r\ne")
    screen.resize(10, 6)
    assert (shown(screen), screen.scrollback) == (["c", "d", "e", "", "", ""], 2)


@given(st.integers(1, 30), st.integers(1, 8), st.lists(PIECES, max_size=40), st.integers(0, 5))
def test_nothing_breaks_the_screen(columns: int, rows: int, pieces: list[bytes], back: int) -> None:
    screen = Screen(columns, rows)
    screen.feed(b"".join(pieces))
    screen.resize(rows + 1, columns)
    screen.feed(b"".join(reversed(pieces)))
    assert len(screen.lines(back)) == screen.size[1]
    assert screen.cursor is None or (screen.cursor[0] < screen.size[0] and screen.cursor[1] < screen.size[1])


@given(st.lists(PIECES, max_size=30), st.integers(1, 7))
def test_lines_do_not_depend_on_where_the_output_is_cut(pieces: list[bytes], step: int) -> None:
    data = b"".join(pieces)
    whole, cut = LineSplitter(), LineSplitter()
    expected = [*whole.feed(data), *whole.feed(b"\n")]
    found = [line for at in range(0, len(data), step) for line in cut.feed(data[at : at + step])]
    assert [*found, *cut.feed(b"\n")] == expected


def test_lines_are_without_colours_and_blank_lines() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"\x1b[0;34mHTTP/1.1 200\x1b[0m\n\n\x1b]0;title\x07two\rthree") == ["HTTP/1.1 200", "two"]
    assert splitter.feed(b"\n") == ["three"]
