"""Which parts of the response time changed between two runs."""

from typing import Any

from loadtop.reports.compare import shifts_of


def part(name: str, host: str | None = "web1", place: str | None = None, ms: float | None = 0.0) -> dict[str, Any]:
    return {"part": name, "host": host, "name": place, "ms": ms}


def breakdown(mean: float, unexplained: float, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"mean_ms": mean, "unexplained_ms": unexplained, "parts": list(parts)}


DATABASE = part("dependency", place="10.0.0.5:3306", ms=12.0) | {"kind": "mysql", "exchanges": 4.0}


def test_the_largest_changes_are_reported_first() -> None:
    before = breakdown(40.0, 8.0, DATABASE, part("cpu", place="apache", ms=20.0))
    after = breakdown(80.0, 8.5, DATABASE | {"ms": 50.0}, part("cpu", place="apache", ms=10.0), part("disk", ms=5.0))
    assert list(shifts_of(before, after)) == [
        "   changed most in the response time: calls to mysql 10.0.0.5:3306, 12 to 50 ms (+38 ms)",
        "   changed most in the response time: apache on CPU, 20 to 10 ms (-10 ms)",
        "   changed most in the response time: disk, 0 to 5 ms (+5 ms)",
    ]


def test_a_service_on_a_watched_machine_has_its_name() -> None:
    watched = DATABASE | {"service_host": "db1"}
    (told,) = shifts_of(breakdown(40.0, 28.0, watched), breakdown(78.0, 28.0, watched | {"ms": 50.0}))
    assert told == "   changed most in the response time: calls to mysql db1 (10.0.0.5:3306), 12 to 50 ms (+38 ms)"


def test_the_accept_queues_of_a_server_whose_port_changed_are_one_place() -> None:
    before, after = (
        breakdown(ms, 0.0, part("accept-queue", place=at, ms=ms)) for at, ms in ((":81", 9.0), (":82", 4.0))
    )
    assert list(shifts_of(before, after)) == ["   changed most in the response time: accept queue, 9 to 4 ms (-5 ms)"]


def test_values_missing_from_one_run_are_not_compared() -> None:
    before = breakdown(40.0, 40.0, part("dependency", None, ms=None))
    after = breakdown(80.0, 30.0, DATABASE | {"ms": 50.0})
    assert list(shifts_of(before, after)) == ["   changed most in the response time: unexplained, 40 to 30 ms (-10 ms)"]
    assert list(shifts_of(None, after)) == []
    assert list(shifts_of({**before, "parts": None}, after)) == []


def test_a_pause_of_the_page_is_called_so() -> None:
    pause = part("dependency", place="timer", ms=200.0) | {"kind": "timer", "exchanges": None}
    (told,) = shifts_of(breakdown(240.0, 40.0, pause), breakdown(140.0, 40.0, pause | {"ms": 100.0}))
    assert told == "   changed most in the response time: asleep on a timer, 200 to 100 ms (-100 ms)"
