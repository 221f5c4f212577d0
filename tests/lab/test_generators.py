"""Several generator machines: network namespaces with an sshd each, and a server that only waits."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.machines import Machine, give_sshd, machines
from tests.loads.engines import LOCUST, command_line, files_left, live_processes, mark_processes, require_locust
from tests.loads.program import children, loadtop, started, summary_of, wait_until
from tests.loads.waiting import PORT, WAIT_S, waiting_server
from tests.servers.program import answers
from tests.servers.sshd import SshdFactory

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.timeout(120)]

TOLD_S = 5.0


class Stand:
    """Two generators and a server whose page takes a tenth of a second, whatever comes."""

    def __init__(self, first: Machine, second: Machine, web: Machine, mark: str) -> None:
        self.first, self.second, self.mark = first, second, mark
        self.url = f"http://{web.address}:{PORT}/"
        self.watched = ("--host", f"web={web.place}")

    def rate(self, users: int, *generators: Machine) -> float:
        """Requests/s that these machines make together."""
        done = loadtop(
            "--engine", "locust", "-k", "-t", "2", "--warmup", "0.5", "-c", str(users), "--json", "-", *self.watched,
            *(word for each in generators for word in ("--generator", f"{each.name}={each.place}")), self.url,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        summary = summary_of(done.stdout)
        roles = {host["name"]: host["role"] for host in summary["hosts"]}
        assert roles["web"] == "target"
        assert all(roles[each.name] == "generator" for each in generators)
        workers = summary["load"]["workers"]
        assert sorted(worker["name"] for worker in workers) == [f"{each.name}-1" for each in generators]
        assert sum(worker["users"]["max"] for worker in workers) == users
        return float(summary["load"]["rps"])


@pytest.fixture
def stand(sshd: SshdFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    require_locust()
    mark = mark_processes(monkeypatch, tmp_path, LOCUST)
    with machines(("g1", "g2", "web")) as (first, second, web):
        extra = f"SetEnv TESTS_MARK={mark} TMPDIR={os.environ['TMPDIR']} PATH={os.environ['PATH']}"
        give_sshd(sshd, (first, second, web), tmp_path, extra)
        with waiting_server(web.launcher, tmp_path / "web.log") as server:
            server.wait_until(lambda: answers(PORT, web.address))
            yield Stand(first, second, web, mark)


def test_two_machines_make_the_sum_of_both(stand: Stand) -> None:
    one, other = stand.rate(4, stand.first), stand.rate(6, stand.second)
    both = stand.rate(10, stand.first, stand.second)
    assert one == pytest.approx(4 / WAIT_S, rel=0.2)
    assert both == pytest.approx(one + other, rel=0.2)


@pytest.mark.full
def test_losses_are_reported_and_nothing_is_left_running(stand: Stand) -> None:
    words = [word for each in (stand.first, stand.second) for word in ("--generator", f"{each.name}={each.place}")]
    words += ["--engine", "locust", "-k", "-t", "60", "-c", "8", "--workers", "2", "--json", "-"]
    with started(*words, stand.url) as program:

        def told(text: str, since: float) -> bool:
            line = ""
            while text not in line and time.monotonic() < since + 20:
                line = program.stderr.readline() if program.stderr is not None else ""
            return time.monotonic() < since + TOLD_S

        assert wait_until(lambda: len(leaves(stand.mark)) >= 4)
        assert told("c=8", time.monotonic() + 20)
        time.sleep(1)
        os.kill(leaves(stand.mark)[0], signal.SIGKILL)
        assert told("3 of 4 workers continue", time.monotonic())
        stand.second.cut()
        assert told("on g2 ended", time.monotonic())
        master = live_processes(stand.mark, "--master-bind-port\0")
        to_all(master, signal.SIGSTOP)
        assert told("Locust's master does not respond", time.monotonic())
        to_all(master, signal.SIGCONT)
        assert told("on g2 ended", time.monotonic())
        to_all(master, signal.SIGKILL)
        assert told("locust ended", time.monotonic())
        out, _ = program.communicate(timeout=30)
    assert program.returncode == 3
    load = summary_of(out)["load"]
    assert load["state"] == "failed"
    assert sorted(worker["name"] for worker in load["workers"]) == ["g1-1", "g1-2", "g2-1", "g2-2"]
    states = [worker["state"] for worker in load["workers"]]
    assert set(states) == {"missing", "unknown"}
    # The machine without a network ends what it runs by itself, 15 s after the last sign of life.
    assert wait_until(lambda: not live_processes(stand.mark), 30), [
        command_line(pid) for pid in live_processes(stand.mark)
    ]
    assert not files_left()


def to_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def leaves(mark: str) -> list[int]:
    """The worker processes that make requests."""
    return [pid for pid in live_processes(mark, "--worker\0", "--processes\0") if not children(pid)]
