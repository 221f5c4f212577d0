"""Locust's workers by name, as its master reports them."""

from loadtop.engines.locust.master import UNKNOWN, Worker, Workers
from loadtop.model import MISSING, EngineWorker

MB = 1_048_576


def one(number: int, generator: str = "g1", state: str = "running", cpu: float = 50.0) -> Worker:
    return Worker(f"host_{number:032x}", generator, state, 5, cpu, 61 * MB)


def test_each_has_a_name_that_stays() -> None:
    workers = Workers()
    workers.update([one(1), one(2, "g2"), one(3)], 0.0)
    assert [(worker.name, worker.host) for worker in workers.all] == [("g1-1", "g1"), ("g2-1", "g2"), ("g1-2", "g1")]
    workers.update([one(3), one(2, "g2")], 1.0)
    workers.update([one(3, state="ready"), one(1), one(4), one(2, "g2")], 1.0)
    assert [worker.name for worker in workers.all] == ["g1-1", "g2-1", "g1-2", "g1-3"]
    assert workers.all[2] == EngineWorker("g1-2", "g1", "ready", 5, 50.0, 61 * 1024)
    assert len(workers.all) == 4


def test_who_is_forgotten_is_missing_and_may_come_back() -> None:
    workers = Workers()
    workers.update([one(1), one(2)], 0.0)
    workers.update([one(1), one(2, state=MISSING)], 1.0)
    assert workers.missing == [EngineWorker("g1-2", "g1", MISSING)]
    workers.update([one(2)], 1.0)
    assert workers.missing == [EngineWorker("g1-1", "g1", MISSING)]
    workers.update([one(1), one(2)], 1.0)
    assert workers.missing == []


def test_nothing_is_known_while_the_master_is_silent() -> None:
    workers = Workers()
    workers.update([one(1), one(2)], 0.0)
    workers.update([one(1)], 1.0)
    workers.set_unknown()
    assert workers.all == (EngineWorker("g1-1", "g1", UNKNOWN), EngineWorker("g1-2", "g1", MISSING))
    workers.update([one(1)], 1.0)
    assert workers.all[0].users == 5


def test_values_not_read_yet_are_not_zero() -> None:
    workers = Workers()
    workers.update([Worker("a", "g1", "ready", 0, 0, 0)], 0.0)
    assert workers.all == (EngineWorker("g1-1", "g1", "ready", 0, None, None),)
    assert workers.cpu_time is None
    workers.update([Worker("a", "g1", "running", 5, 40.0, MB)], 0.5)
    workers.update([Worker("a", "g1", "running", 5, 0.0, MB)], 0.5)
    assert workers.all[0] == EngineWorker("g1-1", "g1", "running", 5, 0.0, 1024)
    workers.update([Worker("a", "g1", "ready", 0, 0, 0)], 0.5)
    assert workers.all[0] == EngineWorker("g1-1", "g1", "ready", 0, 0.0, 1024)
    cpu_time = workers.cpu_time
    assert cpu_time is not None
    assert (cpu_time.worker_cpu_s, cpu_time.late) == ((0.2,), None)


def test_the_full_one_is_found() -> None:
    workers = Workers()
    workers.update([one(1, cpu=90.0), one(2, cpu=97.0)], 0.0)
    assert workers.full is not None
    assert workers.full.name == "g1-2"
    workers.update([one(1), one(2, state=MISSING, cpu=97.0)], 1.0)
    assert workers.full is None
