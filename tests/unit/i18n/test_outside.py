"""Texts from outside are safe where they are shown, and no text takes long."""

import io
import sys
import time
import unicodedata
from collections.abc import Callable

import pytest

from loadtop.cli import RobustStream
from loadtop.i18n import Message, plain
from loadtop.i18n.outside import printable, without_escape_sequences

UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_control_and_format_character_that_unicode_knows_is_a_code() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category != "Cn":  # not assigned yet in the Unicode of this Python
            assert plain(character) == (f"\\x{code:02x}" if category in UNSAFE else character), hex(code)


def test_line_ends_and_tabs_stay_in_several_lines() -> None:
    assert printable("a\tb\r\nc\n") == "a\tb\r\nc\n"
    assert printable("100 %\rno\x1b[2J\u202e") == r"100 %\x0dno\x1b[2J\x202e"


def test_output_has_no_control_characters() -> None:
    terminal = io.StringIO(newline="")
    stream = RobustStream(terminal)
    stream.write("a server called \x1b]0;owned\x07\t\u202eb\n")
    assert terminal.getvalue() == "a server called \\x1b]0;owned\\x07\t\\x202eb\n"


def test_a_template_is_escaped_where_it_is_shown() -> None:
    message = Message("\x1b[2J{name}", name="\x1b")
    assert message.render() == r"\x1b[2J\x1b"
    assert str(message) == "\x1b[2J\x1b"


@pytest.mark.parametrize(
    "text",
    ["\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://a/\x1b\\red", "\x1bPq#0\x1b\\red", "\x1b(Bred"],
)
def test_escape_sequences_are_left_out(text: str) -> None:
    assert without_escape_sequences(text) == "red"


@pytest.mark.parametrize("unit", ["a", "\x1b]", "\x1b[", "\x1bP", "\x1b[0", "\x1b(", "\r", "\u3000"])
@pytest.mark.parametrize("function", [plain, printable, without_escape_sequences])
def test_the_time_is_proportional_to_the_length(function: Callable[[str], str], unit: str) -> None:
    short, long = (cpu_s(function, unit * (size // len(unit))) for size in (5_000, 50_000))
    assert long < 30 * max(short, 0.001)  # were it quadratic, 100 times


def cpu_s(function: Callable[[str], str], text: str) -> float:
    """The least of three, as the machine may be doing something else."""
    took: list[float] = []
    for _ in range(3):
        began = time.process_time()
        function(text)
        took.append(time.process_time() - began)
    return min(took)
