"""Pages of mod_status, what they tell, and what is said of pages that are none."""

from collections.abc import Callable

import pytest

from collectors.apache import collector as apache
from collectors.errors import AbsentError, ParseError
from collectors.machine import Page, without_credentials
from collectors.under_test import origin_of

Status = Callable[[str], str]
URL = "http://web1/server-status?auto"


def page(text: str = "", status: int = 200) -> Page:
    return Page(URL, status, "text/plain", text, 0.01)


@pytest.mark.parametrize(
    ("name", "mpm", "capacity", "accesses", "keepalive", "asynchronous"),
    [
        ("2.2-prefork.txt", "", 49, 12045, 1, None),
        ("2.4.37-event.txt", "event", 100, 7200, 0, (3, 1, 9, 1, 6, 0)),
        ("2.4.57-worker-graceful.txt", "worker", 75, 900, 0, None),
        ("2.4.62-prefork.txt", "prefork", 16, 6626, 2, None),
        ("2.4.62-prefork-graceful.txt", "prefork", 16, 6628, 0, None),
        ("2.4.62-worker.txt", "worker", 24, 6419, 2, None),
        ("2.4.62-event.txt", "event", 24, 5701, 0, (2, 0, 0, 0, 0, 0)),
        ("2.4.62-event-graceful.txt", "event", 24, 5703, 0, (3, 2, 5, 0, 0, 2)),
        ("2.4.67-event.txt", "event", 24, 6201, 0, (2, 0, 0, 0, 0, 0)),
        ("2.4.67-worker-graceful.txt", "worker", 24, 6501, 2, None),
        ("2.4.68-prefork.txt", "prefork", 16, 6366, 2, None),
        ("2.4.68-worker.txt", "worker", 24, 5834, 2, None),
        ("2.4.68-event.txt", "event", 24, 5624, 0, (2, 0, 0, 0, 0, 0)),
        ("2.4.71-prefork.txt", "prefork", 16, 33, 2, None),
        ("2.4.71-worker.txt", "worker", 16, 33, 2, None),
        ("2.4.71-event.txt", "event", 16, 33, 0, (1, 0, 0, 0, 0, 0)),
        ("2.4.71-prefork-graceful.txt", "prefork", 16, 6184, 0, None),
        ("2.4.71-worker-graceful.txt", "worker", 24, 6107, 2, None),
        ("2.4.71-event-graceful.txt", "event", 24, 5199, 0, (3, 2, 5, 0, 0, 2)),
        ("2.4.71-event-not-extended.txt", "event", 8, None, 0, (1, 0, 0, 0, 0, 0)),
    ],
)
def test_versions(
    status: Status,
    name: str,
    mpm: str,
    capacity: int,
    accesses: int | None,
    keepalive: int,
    asynchronous: tuple[int, ...] | None,
) -> None:
    found = apache.parse(status(name))
    assert (found.mpm, len(found.scoreboard), found.accesses) == (mpm, capacity, accesses)
    assert found.scoreboard.count("K") == keepalive
    connections = (found.connections, found.connections_writing, found.connections_keepalive, found.connections_closing)
    assert (found.processes, found.stopping, *connections) == (asynchronous or (None,) * 6)


@pytest.mark.parametrize("name", ["2.4.62-prefork.txt", "2.4.62-worker.txt", "2.4.68-prefork.txt", "2.4.68-worker.txt"])
def test_the_letters_are_what_the_server_itself_counts(status: Status, name: str) -> None:
    """While nothing restarts, BusyWorkers and IdleWorkers are those of the letters, which hold in a restart too."""
    text = status(name)
    board = apache.parse(text).scoreboard
    assert f"\nBusyWorkers: {len(board) - board.count('_') - board.count('.')}\n" in text
    assert f"\nIdleWorkers: {board.count('_')}\n" in text


def test_every_letter_is_known(status: Status) -> None:
    board = apache.parse(status("2.4.57-worker-graceful.txt")).scoreboard
    assert board.count("G") == 20
    assert set("SLCDI") <= set(board)


def test_an_unknown_letter_is_an_error(status: Status) -> None:
    with pytest.raises(ParseError, match="letters that no scoreboard has"):
        apache.parse(status("2.4.71-event.txt").replace("Scoreboard: _", "Scoreboard: x"))


def test_a_scoreboard_cut_off_is_no_smaller_server(status: Status) -> None:
    with pytest.raises(ParseError, match="cut off"):
        apache.parse(status("2.4.71-prefork.txt")[:-5])


@pytest.mark.parametrize("name", ["2.4.62-prefork", "2.4.71-prefork", "2.4.71-worker", "2.4.71-event"])
def test_the_page_for_people_is_told_apart(status: Status, name: str) -> None:
    with pytest.raises(AbsentError, match="an HTML page") as raised:
        apache.parse_page(page(status(f"{name}.html")))
    assert "SetHandler server-status" in str(raised.value.fix)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (404, "a2enmod status"),
        (403, "Require local"),
        (401, "not permitted"),
        (302, "--apache URL"),
        (500, "answers with status 500"),
    ],
)
def test_other_answers_say_what_to_do(code: int, words: str) -> None:
    with pytest.raises(AbsentError, match=words):
        apache.parse_page(page("", code))


def test_a_page_without_counters_says_what_is_missing(status: Status) -> None:
    assert "ExtendedStatus On" in str(
        apache.ApacheCollector.lacks(apache.parse_page(page(status("2.4.71-event-not-extended.txt"))))
    )
    assert apache.ApacheCollector.lacks(apache.parse_page(page(status("2.4.71-event.txt")))) is None


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://web1/server-status?auto", "http://web1/server-status?auto"),
        ("http://web1/server-status", "http://web1/server-status?auto"),
        ("http://web1/status?a=b", "http://web1/status?a=b&auto"),
        ("http://web1:8080", "http://web1:8080/server-status?auto"),
        ("web1:8080/st", "http://web1:8080/st?auto"),
        ("https://u:p@web1/#top", "https://u:p@web1/server-status?auto"),
    ],
)
def test_what_the_user_gives_becomes_the_page_for_programs(given: str, url: str) -> None:
    assert apache.ApacheCollector.status_url(given) == url


def test_what_is_no_url_is_kept_for_the_message_and_never_shown() -> None:
    assert apache.ApacheCollector.status_url("http://u:secret@[::1/") == "http://u:secret@[::1/"
    assert without_credentials("http://u:secret@[::1/") == "(not a URL)"


def test_the_page_beside_a_target() -> None:
    assert origin_of("https://u:p@[::1]:8443/app/x.php?q=1") == "https://[::1]:8443"
