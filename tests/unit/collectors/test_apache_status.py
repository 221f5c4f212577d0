"""Pages of mod_status, what they tell, and what is said of pages that are none."""

import pytest

from collectors.apache import collector as apache
from collectors.errors import AbsentError, ParseError
from collectors.machine import Page
from tests.unit.collectors.texts import status

URL = "http://web1/server-status?auto"


def page(text: str = "", status: int = 200) -> Page:
    return Page(URL, status, text, 0.01)


NONE = (None,) * 6


@pytest.mark.parametrize(
    ("name", "expected", "asynchronous"),
    [
        ("2.2-prefork.txt", ("", 49, 12045, 1), NONE),
        ("2.4.37-event.txt", ("event", 100, 7200, 0), (3, 1, 9, 1, 6, 0)),
        ("2.4.57-worker-graceful.txt", ("worker", 75, 900, 0), NONE),
        ("2.4.62-prefork.txt", ("prefork", 16, 6626, 2), NONE),
        ("2.4.71-prefork.txt", ("prefork", 16, 33, 2), NONE),
        ("2.4.71-worker.txt", ("worker", 16, 33, 2), NONE),
        ("2.4.71-event.txt", ("event", 16, 33, 0), (1, 0, 0, 0, 0, 0)),
        ("2.4.71-event-graceful.txt", ("event", 24, 5199, 0), (3, 2, 5, 0, 0, 2)),
        ("2.4.71-event-not-extended.txt", ("event", 8, None, 0), (1, 0, 0, 0, 0, 0)),
    ],
)
def test_versions(name: str, expected: tuple[object, ...], asynchronous: tuple[int | None, ...]) -> None:
    """The MPM, slots, accesses and kept-alive connections; of event its processes and connections."""
    found = apache.parse(status(name))
    assert (found.mpm, len(found.scoreboard), found.accesses, found.scoreboard.count("K")) == expected
    connections = (found.connections, found.connections_writing, found.connections_keepalive, found.connections_closing)
    assert (found.processes, found.stopping, *connections) == asynchronous


@pytest.mark.parametrize("name", ["2.4.62-prefork.txt", "2.4.71-prefork.txt", "2.4.71-worker.txt"])
def test_the_letters_are_what_the_server_itself_counts(name: str) -> None:
    """While nothing restarts, BusyWorkers and IdleWorkers are those of the letters, which hold in a restart too."""
    text = status(name)
    board = apache.parse(text).scoreboard
    assert f"\nBusyWorkers: {len(board) - board.count('_') - board.count('.')}\n" in text
    assert f"\nIdleWorkers: {board.count('_')}\n" in text


def test_every_letter_is_known() -> None:
    board = apache.parse(status("2.4.57-worker-graceful.txt")).scoreboard
    assert board.count("G") == 20
    assert set("SLCDI") <= set(board)


def test_an_unknown_letter_is_an_error() -> None:
    with pytest.raises(ParseError, match="unknown letters in the scoreboard"):
        apache.parse(status("2.4.71-event.txt").replace("Scoreboard: _", "Scoreboard: x"))


def test_a_truncated_scoreboard_is_not_a_smaller_server() -> None:
    with pytest.raises(ParseError, match="cut off"):
        apache.parse(status("2.4.71-prefork.txt")[:-5])


def test_the_page_for_people_is_recognised() -> None:
    with pytest.raises(AbsentError, match="an HTML page") as raised:
        apache.parse_page(page(status("2.4.62-prefork.html")))
    assert "SetHandler server-status" in str(raised.value.fix)


def test_a_page_without_counters_names_the_missing_ones() -> None:
    assert "ExtendedStatus On" in str(
        apache.ApacheCollector.lacks(apache.parse_page(page(status("2.4.71-event-not-extended.txt"))))
    )
    assert apache.ApacheCollector.lacks(apache.parse_page(page(status("2.4.71-event.txt")))) is None
