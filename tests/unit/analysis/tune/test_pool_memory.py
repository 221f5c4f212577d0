"""What the processes of a pool take together, from RSS and PSS readings of differing age."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.tune.step import worker_pools
from loadtop.model import HostState, Process
from loadtop.rates.compute import host_rates
from loadtop.rates.measured import HostView
from loadtop.servers.kind import WorkerPool
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.registry import KINDS
from tests.unit.conftest import Machine


def process(pid: int, rss_kb: int, pss_kb: int | None) -> Process:
    return Process(pid, "apache2", "httpd", "S", 1, 10, 5, rss_kb, pss_kb)


def pool_of(*processes: Process) -> WorkerPool:
    """Apache's pool with these processes."""
    machine, changes = Machine(), {"processes": processes}
    before, sample = machine.sample(changes=changes), machine.sample(board="WWW" + "_" * 7, changes=changes)
    state = HostState("web1", "target", sample, fresh=True)
    return worker_pools(HostView(state, host_rates(before, sample, KINDS), 0.0))[0]


def test_a_pool_may_have_more_workers_than_it_has_started(machine: Any) -> None:
    page = FpmPool("www", "dynamic", 0, 0, 511, 1, 2, 3, 0, None, 50)
    before, sample = (machine.sample(board=None, changes={"fpm": (page,)}) for _ in range(2))
    state = HostState("web1", "target", sample, fresh=True)
    (pool,) = worker_pools(HostView(state, host_rates(before, sample, KINDS), 0.0))
    assert (pool.name, pool.manager, pool.capacity, pool.started, pool.busy) == ("www", "dynamic", 50, 3, 1)


def test_shared_pages_count_once() -> None:
    pool = pool_of(*(process(pid, 10_000, 4_000) for pid in range(1, 5)))
    assert (pool.rss_kb, pool.memory_kb) == (40_000, 16_000)
    assert (pool.busy, pool.capacity, pool.manager) == (2, 10, "prefork")


@pytest.mark.parametrize(("rss_kb", "pss_kb", "more_kb"), [(22_000, 4_000, 4_000 + 12_000), (1_000, 900, 900)])
def test_growth_since_pss_was_read_counts_and_sharing_less_does_not(rss_kb: int, pss_kb: int, more_kb: int) -> None:
    """One process has 12 MB more than when its PSS was read, or is smaller than the others and shares less."""
    pool = pool_of(*(process(pid, 10_000, 4_000) for pid in range(1, 5)), process(9, rss_kb, pss_kb))
    assert pool.memory_kb == 4 * 4_000 + more_kb


@pytest.mark.parametrize(
    ("unread", "shared_kb", "memory_kb"), [(0, 18_000, 12_000), (3, 36_000, 24_000), (4, None, 70_000)]
)
def test_pss_is_read_of_half_of_the_processes_at_least(unread: int, shared_kb: int | None, memory_kb: int) -> None:
    processes = [process(pid, 10_000, 4_000 if pid <= 3 else None) for pid in range(1, 4 + unread)]
    pool = pool_of(*processes)
    assert (pool.shared_kb, pool.memory_kb) == (shared_kb, memory_kb)


def test_memory_is_never_less_than_none() -> None:
    """PSS that is older than RSS may be larger."""
    pool = pool_of(process(1, 4_000, 9_000), process(2, 5_000, 5_000))
    assert (pool.shared_kb, pool.memory_kb) == (0, 9_000)
    assert replace(pool, shared_kb=10_000).memory_kb == 0


def test_without_pss_it_is_rss() -> None:
    pool = pool_of(*(process(pid, 10_000, None) for pid in range(1, 5)))
    assert (pool.shared_kb, pool.memory_kb) == (None, 40_000)
