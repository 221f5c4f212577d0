"""Output of commands has lines of a greatest length, whatever a command prints."""

import pytest

from loadtop.engines.output import MAX_LINE, LineSplitter


@pytest.mark.parametrize("size", [1, 1000, 65_536])
def test_of_a_long_line_the_start_is_taken(size: int) -> None:
    splitter = LineSplitter()
    data = b"first\n" + b"x" * 200_000 + b"\nlast\n"
    found = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    assert [line[:5] for line in found] == ["first", "xxxxx", "last"]
    assert len(found[1]) <= MAX_LINE + 1


@pytest.mark.parametrize("start", [b"\x1bP", b"\x1b]", b"\x1b[", b"\x1b[1", b"\x1b ", b"\x1b_"])
def test_sequences_without_an_end_cost_little(start: bytes) -> None:
    """A pattern that looks for their end from each start needs minutes for this, and the test's time limit."""
    splitter = LineSplitter()
    for _ in range(20):
        splitter.feed(start * 60_000 + b"\n")
    assert splitter.feed(b"done\n") == ["done"]
