"""Locustfiles that Locust can begin with, but that make no load: one line with its own words."""

from pathlib import Path

import pytest

from tests.loads.engines import LOCUST, figures, living, loadtop, mark_processes, need_locust, until
from tests.servers.apache import ApacheFactory

pytestmark = pytest.mark.engines

USER = """
from locust import HttpUser, constant, task

class Me(HttpUser):
    wait_time = constant(0.05)

    @task
    def get(self):
        {task}
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    need_locust()
    return mark_processes(monkeypatch, tmp_path, LOCUST)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "locust ended: No User class found!"),
        (USER.format(task="raise ValueError('my\\n  own mistake')"), "no user made a request: my own mistake"),
        (USER.format(task="raise KeyError"), "no user made a request: raise KeyError"),
    ],
    ids=["no-user", "mistake", "bare"],
)
def test_no_load_is_a_failure(apache: ApacheFactory, mark: str, tmp_path: Path, text: str, said: str) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text(text)
    done = loadtop("--engine", "locust", "--plan", str(plan), "-t", "2", apache().url)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(f"The load failed: no verdict\n  {said}\n")
    assert until(lambda: not living(mark), 5)


def test_users_that_break_off_at_times(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(workers=12)
    plan = tmp_path / "plan.py"
    plan.write_text(USER.format(task="self.client.get('/').json()"))
    done = loadtop("--engine", "locust", "--plan", str(plan), "-t", "2", "--json", "-", server.url)
    assert done.returncode == 0, done.stderr
    load = figures(done.stdout)["load"]
    assert load["requests"] > 5
    assert load["message"].startswith("users give up: ")
    assert until(lambda: not living(mark), 5)
