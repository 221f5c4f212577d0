"""The pools of workers that a status page tells of, and the configuration for more of them."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.model import Process
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.kind import WorkerPool
from loadtop.servers.nginx.kind import NGINX
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.uwsgi.kind import UWSGI
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.unit.known import known

PROCESSES = tuple(Process(pid, "x", "x", "S", 1, 0, 5, 1000) for pid in range(3))
FPM = FpmPool("www", "dynamic", 0, 0, 511, 2, 3, 5, 0, 0, 9)
PAGE = ApacheStatus("http://x/s?auto", "event", "Apache", "WWGK__..", threads_per_child=4)
UNREAD = {"active": None, "total": None}


def fpm_pools(*pools: FpmPool) -> list[WorkerPool]:
    return list(known(PHP_FPM.workers).pools([ServerRates(pool, {}) for pool in pools], PROCESSES))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (9, 5, 2)),  # the page itself takes a child
        ({"active": 0}, (9, 5, 0)),
        ({"silent_s": 2.0, **UNREAD}, (9, 9, 9)),  # a pool whose page does not come is full
        ({"silent_s": 2.0, "max_children": None, **UNREAD}, None),
        (UNREAD, None),
        ({"total": None}, None),
        ({"active": None}, None),
        ({"max_children": None}, (None, 5, 2)),
    ],
)
def test_pools_of_php_fpm(changes: dict[str, Any], expected: tuple[int | None, int, int] | None) -> None:
    found = [(pool.capacity, pool.started, pool.busy) for pool in fpm_pools(replace(FPM, **changes))]
    assert found == ([] if expected is None else [expected])


def test_the_memory_of_processes_is_that_of_the_only_pool() -> None:
    assert [pool.rss_kb for pool in fpm_pools(FPM)] == [3000]
    assert [pool.rss_kb for pool in fpm_pools(FPM, replace(FPM, pool="b"))] == [None, None]


@pytest.mark.parametrize(("manager", "lines"), [("dynamic", 3), ("static", 2)])
def test_a_dynamic_pool_has_other_limits_too(manager: str, lines: int) -> None:
    (pool,) = fpm_pools(replace(FPM, manager=manager))
    text = known(PHP_FPM.workers).configuration(pool, 12).splitlines()
    assert text[:2] == ["[www]", "pm.max_children = 12"]
    assert len(text) == lines


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (8, 6, 3, 4, 2)),  # one of the three processes is the parent
        ({"processes": 5}, (8, 6, 3, 4, 5)),
        ({"scoreboard": "____", "threads_per_child": None}, (4, 4, 0, None, 2)),
    ],
)
def test_the_pool_of_apache(changes: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    (pool,) = known(APACHE.workers).pools([ServerRates(replace(PAGE, **changes), {})], PROCESSES)
    found = (pool.capacity, pool.started, pool.busy, pool.threads_per_child, pool.processes)
    assert found == expected


def test_apache_without_known_processes_has_one() -> None:
    (pool,) = known(APACHE.workers).pools([ServerRates(PAGE, {})], ())
    assert (pool.processes, pool.rss_kb) == (1, None)


@pytest.mark.parametrize(("workers", "allowed"), [(3, 3), (4, 4), (7, 4), (8, 8)])
def test_apache_rounds_down_to_whole_processes(workers: int, allowed: int) -> None:
    (pool,) = known(APACHE.workers).pools([ServerRates(PAGE, {})], PROCESSES)
    assert known(APACHE.workers).allowed(pool, workers) == allowed
    assert known(APACHE.workers).allowed(replace(pool, manager="prefork"), workers) == workers


def test_a_pool_of_processes_with_threads_is_sized_in_whole_processes() -> None:
    sizes, status = known(UWSGI.workers), UwsgiStatus(address="a:1", workers=3, threads=2, active=4, cheap=2)
    (pool,) = sizes.pools([ServerRates(status, {})], PROCESSES)
    assert (pool.capacity, pool.started, pool.busy, pool.processes, pool.rss_kb) == (6, 4, 4, 2, 3000)
    assert sizes.configuration(pool, sizes.allowed(pool, 9)) == "[uwsgi]\nprocesses = 4\nthreads = 2"
    assert sizes.allowed(pool, 1) == 2
    assert list(sizes.pools([ServerRates(replace(status, threads=None), {})], PROCESSES)) == []


def test_reports_on_nginx_and_haproxy() -> None:
    status = NginxStatus("http://x/", 11, 0, 19, 6, 100, 100, 500, 2, 10)
    unknown = replace(status, worker_connections=None)
    assert NGINX.seen((status, unknown)) == (
        "worker_processes 2, worker_connections 10 (http://x/); worker_connections unknown (http://x/)"
    )
    assert dict(NGINX.settings((status,))) == {
        "nginx http://x/ worker_processes": "2",
        "nginx http://x/ worker_connections": "10",
    }
    assert dict(NGINX.settings((unknown,))) == {"nginx http://x/ worker_processes": "2"}
    lines = [HaproxyProxy("be", name, "UP", 4, 1, 9, 0, 0, 0) for name in ("BACKEND", "FRONTEND", "s1")]
    assert str(HAPROXY.seen(tuple(lines))) == "3 rows of statistics; backends be"
    assert str(HAPROXY.seen(tuple(lines[1:]))) == "2 rows of statistics; backends none"
    assert HAPROXY.brief([ServerRates(line, {}) for line in lines]) == " haproxy queue 4"
    assert HAPROXY.brief([ServerRates(line, {}) for line in lines[1:]]) == ""
