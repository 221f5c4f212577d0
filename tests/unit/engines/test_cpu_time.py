"""CPU time, thread by thread: each counter keeps its place, whatever else starts or ends."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from loadtop.engines.cpu_time import MAX_THREADS, CpuTime


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> dict[int, dict[int, float]]:
    """The threads of each process, with their CPU time in seconds."""
    running: dict[int, dict[int, float]] = {1: {1: 5.0}, 2: {2: 70.0}}

    class Process:
        def __init__(self, pid: int) -> None:
            if pid not in running:
                raise psutil.NoSuchProcess(pid)
            self.pid = pid

        def children(self, *, recursive: bool) -> list["Process"]:
            assert recursive
            return []

        def threads(self) -> list[SimpleNamespace]:
            return [
                SimpleNamespace(id=thread, user_time=seconds, system_time=0.0)
                for thread, seconds in running[self.pid].items()
            ]

    monkeypatch.setattr(psutil, "Process", Process)
    return running


def test_counters_of_several_processes_keep_their_places(running: dict[int, dict[int, float]]) -> None:
    cpu_time = CpuTime(1, 2, 3)
    assert cpu_time.read()[0] == (5.0, 70.0)
    running[1][11] = 0.5  # a thread more of the first process
    assert cpu_time.read()[0] == (5.0, 70.0, 0.5)
    del running[1]
    running[2][2] = 71.0
    assert cpu_time.read()[0] == (5.0, 71.0, 0.5)


def test_waits_for_a_cpu(running: dict[int, dict[int, float]], tmp_path: Path) -> None:
    cpu_time = CpuTime(1, 2, proc=tmp_path)
    assert cpu_time.read() == ((5.0, 70.0), ())  # the kernel counts none
    for thread, waited_ns in ((1, 250_000_000), (2, 1_000_000_000)):
        directory = tmp_path / f"{thread}/task/{thread}"
        directory.mkdir(parents=True)
        (directory / "schedstat").write_text(f"5000000000 {waited_ns} 7\n")
    assert cpu_time.read()[1] == (0.25, 1.0)
    del running[1]  # its counter keeps its value
    assert cpu_time.read()[1] == (0.25, 1.0)
    running[2][3] = 0.1  # it has not waited yet, or has ended just now
    assert cpu_time.read() == ((5.0, 70.0, 0.1), (0.25, 1.0, 0.0))
    running[2] |= dict.fromkeys(range(4, MAX_THREADS + 1), 0.0) | {999: 8.0}
    seconds, waits = cpu_time.read()
    assert (len(seconds), seconds[-1]) == (MAX_THREADS + 1, 8.0)
    assert (len(waits), waits[-1]) == (MAX_THREADS + 1, 0.0)
