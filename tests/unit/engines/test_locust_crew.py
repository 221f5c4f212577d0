"""Locust's workers by name, as its master tells of them."""

from loadtop.engines.locust.api import Worker
from loadtop.engines.locust.crew import UNKNOWN, Crew
from loadtop.model import MISSING, EngineWorker

MB = 1_048_576


def one(number: int, generator: str = "g1", state: str = "running", cpu: float = 50.0) -> Worker:
    return Worker(f"host_{number:032x}", generator, state, 5, cpu, 61 * MB)


def test_each_has_a_name_that_stays() -> None:
    crew = Crew()
    crew.look([one(1), one(2, "g2"), one(3)], 0.0)
    assert [(worker.name, worker.host) for worker in crew.workers] == [("g1-1", "g1"), ("g2-1", "g2"), ("g1-2", "g1")]
    crew.look([one(3), one(2, "g2")], 1.0)
    crew.look([one(3, state="ready"), one(1), one(4), one(2, "g2")], 1.0)
    assert [worker.name for worker in crew.workers] == ["g1-1", "g2-1", "g1-2", "g1-3"]
    assert crew.workers[2] == EngineWorker("g1-2", "g1", "ready", 5, 50.0, 61 * 1024)
    assert len(crew) == 4


def test_who_is_forgotten_is_missing_and_may_come_back() -> None:
    crew = Crew()
    crew.look([one(1), one(2)], 0.0)
    crew.look([one(1), one(2, state=MISSING)], 1.0)
    assert crew.missing == [EngineWorker("g1-2", "g1", MISSING)]
    crew.look([one(2)], 1.0)
    assert crew.missing == [EngineWorker("g1-1", "g1", MISSING)]
    crew.look([one(1), one(2)], 1.0)
    assert crew.missing == []


def test_nothing_is_known_while_the_master_is_silent() -> None:
    crew = Crew()
    crew.look([one(1), one(2)], 0.0)
    crew.look([one(1)], 1.0)
    crew.lose_sight()
    assert crew.workers == (EngineWorker("g1-1", "g1", UNKNOWN), EngineWorker("g1-2", "g1", MISSING))
    crew.look([one(1)], 1.0)
    assert crew.workers[0].users == 5


def test_what_was_not_looked_at_yet_is_not_zero() -> None:
    crew = Crew()
    crew.look([Worker("a", "g1", "ready", 0, 0, 0)], 0.0)
    assert crew.workers == (EngineWorker("g1-1", "g1", "ready", 0, None, None),)
    assert crew.usage is None
    crew.look([Worker("a", "g1", "running", 5, 40.0, MB)], 0.5)
    crew.look([Worker("a", "g1", "running", 5, 0.0, MB)], 0.5)
    assert crew.workers[0] == EngineWorker("g1-1", "g1", "running", 5, 0.0, 1024)
    crew.look([Worker("a", "g1", "ready", 0, 0, 0)], 0.5)
    assert crew.workers[0] == EngineWorker("g1-1", "g1", "ready", 0, 0.0, 1024)
    usage = crew.usage
    assert usage is not None
    assert (usage.worker_cpu_s, usage.late) == ((0.2,), None)


def test_the_full_one_is_found() -> None:
    crew = Crew()
    crew.look([one(1, cpu=90.0), one(2, cpu=97.0)], 0.0)
    assert crew.full is not None
    assert crew.full.name == "g1-2"
    crew.look([one(1), one(2, state=MISSING, cpu=97.0)], 1.0)
    assert crew.full is None
