"""What the workers of a full pool wait for, by the breakdown of an interval."""

from typing import Any

import pytest

from loadtop.diagnosis.worker_time import longest_wait
from loadtop.model import FileLock, Latencies, Listener, Role, ServerSeen, Tcp
from loadtop.model.histogram import distribution
from loadtop.rates.records import PeerRates, ServerRates
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.interval import host, measured

RPS, MEAN_MS = 50.0, 240.0
DATABASE = PeerRates("10.0.0.5:3306", "mysql", 1, 5, 20.0, 6.0, 100.0, RPS)
QUEUE = {"tcp": Tcp(listeners=(Listener(80, 2),))}  # of two requests: 40 ms each


def told(changes: dict[str, Any], role: Role = Role.WEB, **rates: Any) -> str:
    load = {
        "latencies": Latencies(*(distribution([round(1000 * ms)] * 50) for ms in (MEAN_MS, 0.0, MEAN_MS, MEAN_MS))),
        "server": ServerSeen("x", "web1", 80, "/"),
    }
    found = longest_wait(measured(host({**QUEUE, **changes}, **rates), load=load, rps=RPS), role)
    return "" if found is None else str(found)


HELD = "On average, a request holds a worker for 200 ms, of which it "


@pytest.mark.parametrize(
    ("changes", "rates", "wait"),
    [
        ({}, {"peers": (DATABASE,)}, "waits 120 ms for mysql at 10.0.0.5:3306."),
        ({"sleeping": 6.0}, {}, "spends 120 ms in pauses of the page (such as usleep or sleep)."),
        (
            {"locks": (FileLock("flock", "fe:00", 7, 1, "php", 6, "/a"),)},
            {},
            "waits 120 ms for a file lock (/a).",
        ),
    ],
)
def test_what_takes_most_of_the_time_in_a_worker_is_named(
    changes: dict[str, Any], rates: dict[str, Any], wait: str
) -> None:
    assert told(changes, **rates) == HELD + wait


@pytest.mark.parametrize(("questions", "named"), [(5.0, False), (5.1, True)])
def test_what_takes_less_than_half_of_it_is_not(questions: float, named: bool) -> None:
    peer = PeerRates("10.0.0.5:3306", "mysql", 1, 5, 20.0, questions, 100.0, RPS)
    assert bool(told({}, peers=(peer,))) is named


def test_without_a_breakdown_nothing_is() -> None:
    assert longest_wait(measured(host(), load={"latencies": None}, rps=RPS), Role.WEB) is None


def test_a_worker_of_apache_is_held_while_the_request_waits_for_one_of_php_fpm() -> None:
    pool = {"fpm": (ServerRates(FpmPool("www", "static", 1, 2, 511, 0, 4, 4, 0), {}),)}
    assert "holds a worker for 200 ms" in told({}, peers=(DATABASE,), servers=pool)
    assert "holds a worker for 160 ms" in told({}, Role.APPLICATION, peers=(DATABASE,), servers=pool)
