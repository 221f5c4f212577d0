"""``tune`` with Locust, which takes a quarter of a minute."""

from pathlib import Path

import pytest

from tests.loads.engines import LOCUST, figures, loadtop, mark_processes, need_locust
from tests.servers.apache import ApacheFactory

pytestmark = pytest.mark.engines


def test_the_users_are_turned(apache: ApacheFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_locust()
    mark_processes(monkeypatch, tmp_path, LOCUST)
    words = ("-k", "-c", "2", "--finer", "0", "--step-time", "1", "-t", "20", "-q", "--json", "-")
    done = loadtop("tune", "--engine", "locust", *words, apache(workers=12).url)
    assert done.returncode == 0, done.stderr
    summary = figures(done.stdout)
    assert {1, 2} <= {step["concurrency"] for step in summary["steps"]}
    assert summary["knee"] is not None
