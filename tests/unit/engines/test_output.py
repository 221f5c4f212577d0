"""Output of commands: lines of a greatest length, whatever a command prints, passed on as it came."""

import asyncio
import os
import pty
import select
import tty
from collections.abc import Iterator

import pytest

from loadtop.engines.output import MAX_LINE, LineSplitter, OutputForwarder


@pytest.mark.parametrize("size", [1, 1000, 65_536])
def test_of_a_long_line_the_start_is_taken(size: int) -> None:
    splitter = LineSplitter()
    data = b"first\n" + b"x" * 200_000 + b"\nlast\n"
    found = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    assert [line[:5] for line in found] == ["first", "xxxxx", "last"]
    assert len(found[1]) == MAX_LINE == 4096


def test_a_line_that_is_not_too_long_waits_for_its_end() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"x" * MAX_LINE) == []
    assert splitter.feed(b"\n") == ["x" * MAX_LINE]
    assert splitter.feed(b"y" * (MAX_LINE + 1)) == ["y" * MAX_LINE]


@pytest.mark.parametrize("start", [b"\x1bP", b"\x1b]", b"\x1b[", b"\x1b[1", b"\x1b ", b"\x1b_"])
def test_sequences_without_end_cost_little(start: bytes) -> None:
    """A pattern that looks for their end from each start needs minutes for this, and the test's time limit."""
    splitter = LineSplitter()
    for _ in range(20):
        splitter.feed(start * 60_000 + b"\n")
    assert splitter.feed(b"done\n") == ["done"]


@pytest.fixture(params=["pipe", "terminal"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Where we read what is passed on, and where it is written to."""
    ours, its = os.pipe() if request.param == "pipe" else pty.openpty()
    if request.param == "terminal":
        tty.setraw(its)
    yield ours, its
    os.close(ours)
    os.close(its)


async def test_output_is_passed_on_and_read_line_by_line(ends: tuple[int, int]) -> None:
    ours, its = ends
    lines: list[str] = []
    forwarder = OutputForwarder(its, lines.append)
    os.write(forwarder.command_end, b"one\r50 %\rtw\x1b[1mo\npassword: ")
    passed = await asyncio.to_thread(_read_until, ours, b"password: ")  # a prompt, though its line has no end
    assert passed == (b"one\r50 %\rtw\\x1b[1mo\npassword: " if os.isatty(its) else b"one\r50 %\rtw\x1b[1mo\npassword: ")
    last = b"x" * 70_000 + b"\nend"
    os.write(forwarder.command_end, last)
    os.close(forwarder.command_end)
    assert await asyncio.to_thread(_read_until, ours, last) == last
    await forwarder.drained(30)
    assert [line[:20] for line in lines] == ["one", "50 %", "two", "password: " + "x" * 10, "end"]


async def test_a_line_is_passed_on_when_it_is_complete(ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadtop.engines.output.FLUSH_S", 3600.0)
    ours, its = ends
    forwarder = OutputForwarder(its, lambda _: None)
    for written, passed in [(b"one\nha", b"one\n"), (b"lf\r5", b"half\r"), (b"0 %\r\nla", b"50 %\r\n")]:
        os.write(forwarder.command_end, written)
        assert await asyncio.to_thread(_read_until, ours, passed) == passed
    os.close(forwarder.command_end)
    assert await asyncio.to_thread(_read_until, ours, b"la") == b"la"
    await forwarder.drained(30)


async def test_a_reader_that_closes_ends_the_pipe_of_the_command() -> None:
    ours, its = os.pipe()
    os.close(ours)
    forwarder = OutputForwarder(its, lambda _: None)
    os.write(forwarder.command_end, b"one\n")
    await forwarder.drained(30)
    with pytest.raises(BrokenPipeError):
        os.write(forwarder.command_end, b"two\n")
    os.close(forwarder.command_end)
    os.close(its)


def _read_until(file: int, end: bytes) -> bytes:
    found = b""
    while not found.endswith(end) and select.select([file], [], [], 5)[0]:
        found += os.read(file, 65_536)
    return found
