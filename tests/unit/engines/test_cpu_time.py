"""CPU time, thread by thread: each counter keeps its place, whatever else starts or ends."""

from types import SimpleNamespace

import psutil
import pytest

from loadtop.engines.cpu_time import CpuTime


def test_counters_of_several_processes_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
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
    cpu_time = CpuTime(1, 2, 3)
    assert cpu_time.read() == (5.0, 70.0)
    running[1][11] = 0.5  # a thread more of the first process
    assert cpu_time.read() == (5.0, 70.0, 0.5)
    del running[1]
    running[2][2] = 71.0
    assert cpu_time.read() == (5.0, 71.0, 0.5)
