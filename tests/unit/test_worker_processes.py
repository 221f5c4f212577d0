"""Pools of worker processes: when they are full, what is said then, and how they are shown."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.forecast import Use
from loadtop.diagnosis.verdict import Assessment
from loadtop.rates.records import ServerRates
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.gunicorn.record import GunicornPool
from loadtop.servers.uwsgi.kind import UWSGI
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.unit.course import Run
from tests.unit.interval import advice, assessment, host, measured, of_host, states, value

(UWSGI_WORKERS,) = UWSGI.verdicts
POOL = UwsgiStatus("/run/app.sock", 10, 2, 20, 5, "127.0.0.1:9191", "2.0.21", 0, 0, 900, 3)
OVERFULL = GunicornPool("127.0.0.1:8000", 2, 1, 2, 4, "sync", 10)
RATES: dict[str, float | None] = {"requests": 90.0, "exceptions": 0.5}


def assessed(*pools: UwsgiStatus, **load: Any) -> Assessment:
    servers = {"uwsgi": tuple(ServerRates(pool, RATES) for pool in pools)}
    return of_host(UWSGI_WORKERS, host(servers=servers), load=load)


@pytest.mark.parametrize(
    ("active", "waiting", "flying", "over", "held"),
    [
        (20, 1, 30, True, True),
        (20, 0, 30, False, True),
        (19, 1, 30, True, True),  # the free one is about to take the request that waits
        (18, 1, 30, False, True),
        (17, 0, 30, False, True),
        (16, 0, 30, False, False),
        (20, None, 21, True, True),
        (20, None, 20, False, True),
        (20, 1, 20, True, True),  # others than the load may ask too
    ],
)
def test_workers_and_the_queue(active: int, waiting: int | None, flying: int, over: bool, held: bool) -> None:
    found = assessed(replace(POOL, active=active, listen_queue=waiting), in_flight=flying)
    assert states(found) == (over, held)
    assert value(found, "uwsgi.full_pct") == 5.0 * active


@pytest.mark.parametrize(
    ("pool", "flying", "said"),
    [
        (POOL, 41, "Raise --workers of uWSGI from 10 to 21 (2 threads each): 41 requests are in flight. "),
        (POOL, 20, "Raise --workers of uWSGI from 10. "),
        (POOL, 41, "All 20 threads of the workers of uWSGI are busy while the CPU is not. 5 requests are waiting."),
        (replace(POOL, threads=1, active=10), 41, "Raise --workers of uWSGI from 10 to 41: "),
        (replace(POOL, threads=1, active=10), 41, "All 10 workers of uWSGI are busy while the CPU is not. "),
        (
            replace(POOL, active=4, cheap=16),
            41,
            "Raise --cheaper of uWSGI, the minimum number of workers: only 2 of 10 workers run, and the pool",
        ),
    ],
)
def test_the_advice(pool: UwsgiStatus, flying: int, said: str) -> None:
    found = assessed(pool, in_flight=flying)
    assert found.over
    assert said in f"{advice(found)} "


def test_the_pool_with_the_longest_queue_counts_and_then_the_fullest() -> None:
    pools = [replace(POOL, active=n, listen_queue=queue) for n, queue in ((5, 0), (9, 0), (3, 2))]
    assert value(assessed(*pools), "uwsgi.active") == 3
    assert value(assessed(*pools[:2]), "uwsgi.active") == 9


@pytest.mark.parametrize("changes", [{"active": None}, {"workers": None}, {"threads": None}])
def test_without_figures_nothing_is_said(changes: dict[str, Any]) -> None:
    view = host(servers={"uwsgi": (ServerRates(replace(POOL, **changes), RATES),)})
    assert assessment(UWSGI_WORKERS, view) is None
    assert dict(UWSGI.demands(measured(view), view, True)) == {}


def test_its_workers_are_predicted() -> None:
    view = host(servers={"uwsgi": (ServerRates(replace(POOL, active=6), RATES),)})
    assert dict(UWSGI.demands(measured(view), view, True)) == {"uwsgi-workers": Use(6, 20)}
    pools = tuple(ServerRates(replace(POOL, active=active, workers=4), RATES) for active in (1, 7, 2))
    view = host(servers={"uwsgi": pools})
    assert dict(UWSGI.demands(measured(view), view, True)) == {"uwsgi-workers": Use(7, 8)}


def test_in_words() -> None:
    assert UWSGI.brief([ServerRates(POOL, RATES)]) == " uwsgi 20/20 queue 5"
    assert UWSGI.brief([ServerRates(UwsgiStatus(), {})]) == " uwsgi -/-"
    assert GUNICORN.brief([ServerRates(OVERFULL, {})]) == " gunicorn 2/2 queue 12"
    assert dict(UWSGI.settings((POOL, UwsgiStatus(url="b")))) == {
        "uwsgi 127.0.0.1:9191 workers": "10",
        "uwsgi 127.0.0.1:9191 threads": "2",
    }
    limit = POOL.worker_limit
    assert (limit.setting, limit.group, limit.now) == ("--workers", "uwsgi", 10)


def test_the_report_counts_connections_that_wait_in_workers_too(watch: Run) -> None:
    watch.see(gunicorn=(OVERFULL,))
    watch.see(gunicorn=(OVERFULL,))
    watch.see(gunicorn=(replace(OVERFULL, listen_queue=0),))
    watch.see(gunicorn=(replace(OVERFULL, connections=None, address="b"),))
    assert "  gunicorn 127.0.0.1:8000  active 2 of 2 workers  queue 10\n" in watch.report()
    assert "  gunicorn b  active 2 of 2 workers  queue 4\n" in watch.report()


def test_metrics() -> None:
    view = host(servers={"uwsgi": (ServerRates(POOL, RATES),)})
    assert [metric.read(view) for metric in UWSGI.metrics] == [20, 5, 90.0, 0.5]
