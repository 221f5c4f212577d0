"""Text: safe to show, and measured in cells."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.drawing.line import clip, clip_middle, safe, width, wrap

WORDS = st.text(max_size=60)


@given(WORDS)
@example("\x1b[31mred\x1b[0m")
@example("a\u202eb\u200bc\u2066")
@example("web\r\nhost\t1")
@example("\x9b31m")
def test_nothing_that_moves_a_terminal_survives(text: str) -> None:
    made = safe(text)
    assert all(unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp") for c in made)
    assert safe(made) == made


def test_safe_text_stays_readable() -> None:
    assert safe("web1.example.org") == "web1.example.org"
    assert safe("ウェブ一号") == "ウェブ一号"
    assert safe("cafe\u0301") == "café"
    assert safe("か\u3099") == "が"
    assert safe("[red]no markup[/]") == "[red]no markup[/]"
    assert safe("a\x1b]0;evil\x07b") == "a?]0;evil?b"


@given(WORDS)
@example("\u0903")
@example("\U0001f44d\U0001f3fd \u1161")
def test_width_is_the_terminals(text: str) -> None:
    made = safe(text)
    assert width(made) == cell_len(made)
    assert all(width(character) in (1, 2) for character in made)


@given(WORDS, st.integers(0, 40))
def test_clipped_text_fits(text: str, cells: int) -> None:
    made = safe(text)
    assert width(clip(made, cells)) <= cells
    assert width(clip_middle(made, cells)) <= cells
    if width(made) <= cells:
        assert clip(made, cells) == clip_middle(made, cells) == made


def test_clipping_shows_where() -> None:
    assert clip("mariadbd", 6) == "maria…"
    assert clip("データベース", 6) == "デー…"
    assert clip_middle("http://web1/a/long/way/index.php", 16) == "http://w…dex.php"


@given(WORDS, st.integers(1, 40), st.integers(1, 5))
def test_wrapped_text_fits(text: str, cells: int, lines: int) -> None:
    made = wrap(safe(text), cells, lines)
    assert len(made) <= lines
    assert all(width(line) <= cells for line in made)


def test_wrapping_keeps_every_word_that_fits() -> None:
    assert wrap("one two three four", 9, 3) == ["one two", "three", "four"]
    assert wrap("one two three four", 9, 2) == ["one two", "three fo…"]
    assert wrap("", 9, 2) == []
    assert wrap("限界です。CPU が", 6, 5) == ["限界で", "す。", "CPU が"]
