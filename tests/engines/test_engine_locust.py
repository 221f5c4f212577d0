"""Loads by Locust: failing locustfiles, ``tune``, reports of a recording, its workers in replay, an experiment."""

import json
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from loadtop.recording.reader import Session
from tests.loads.engines import LOCUST, live_processes, mark_processes, require_locust
from tests.loads.program import loadtop, summary_of, wait_until
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


class Page(HTMLParser):
    """The tables of a page, each as its rows of cells, and how many charts there are."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.charts = 0
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (only the tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.tables[-1][-1].append("")
            self._in_cell = True
        self.charts += tag == "svg"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.tables[-1][-1][-1] += data

    def rows(self, *head: str) -> list[list[str]]:
        """The rows of the first table whose head begins so."""
        return next(rows[1:] for rows in self.tables if tuple(rows[0][: len(head)]) == head)


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    require_locust()
    return mark_processes(monkeypatch, tmp_path, LOCUST)


def check_page(page: Page, load: dict[str, Any]) -> None:
    (counts,) = page.rows("requests", "failed")
    assert counts[:3] == [f"{load['requests']:,}", f"{load['failed']:,} (unclassified)", "-"]
    assert counts[4] == "-"  # bytes are not measured
    (times,) = page.rows("", "min")
    assert times[0] == "response time"
    assert float(times[-1]) == pytest.approx(load["latency_ms"]["max"], rel=0.05)
    first, second = page.rows("mean (min to max)", "users")
    assert first[0].startswith("local-1 (")
    assert second[0].startswith("local-2 (")
    assert float(first[3].split()[0]) > 1
    assert page.charts >= 3


def test_reports_of_a_recording(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(pages={"a.html": "x" * 1000}, workers=12)
    file, live = tmp_path / "run.loadtop", tmp_path / "live.html"
    done = loadtop(
        "--engine", "locust", "-t", "4", "-c", "6", "--workers", "2", "-k", "--json", "-", "--record", str(file),
        "--html", str(live), f"{server.url}a.html", f"{server.url}none.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    assert [worker["name"] for worker in load["workers"]] == ["local-1", "local-2"]
    assert sum(worker["users"]["max"] for worker in load["workers"]) == 6
    assert all(worker["host"] == "local" and worker["state"] != "missing" for worker in load["workers"])
    assert all(worker["memory_kb"]["min"] > 1000 and worker["cpu_pct"]["max"] > 1 for worker in load["workers"])
    assert "  worker   local-1  " in done.stderr

    later = tmp_path / "later.html"
    assert loadtop("report", "--html", str(later), str(file)).returncode == 0
    for path in (live, later):
        page = Page()
        page.feed(path.read_text())
        check_page(page, load)
    again = loadtop("report", "--json", "-", str(file))
    assert summary_of(again.stdout)["load"] == load
    markdown = loadtop("report", "--markdown", str(file)).stdout
    assert f"| {load['requests']:,} | {load['failed']:,} (unclassified) | - |" in markdown
    assert "## Workers of the engine" in markdown
    assert "| local-2 (" in markdown
    assert "| load | engine | locust |" in markdown

    with Session(file) as session:
        shown = [frame.load.workers for frame in session.frames() if frame.load is not None and frame.load.workers]
    assert {worker.state for workers in shown for worker in workers} >= {"running"}
    tables = tmp_path / "tables.db"
    assert loadtop("export", str(file), "--sqlite", str(tables)).returncode == 0
    with closing(sqlite3.connect(tables)) as database:
        kept = database.execute("SELECT name, host, max(users), max(cpu_pct) FROM engine_worker GROUP BY name")
        rows = kept.fetchall()
    assert [row[:3] for row in rows] == [("local-1", "local", 3), ("local-2", "local", 3)]
    assert all(row[3] > 1 for row in rows)
    assert wait_until(lambda: not live_processes(mark))


def test_an_experiment(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(pages={"a.html": "mine"}, workers=12)
    (tmp_path / "plan.toml").write_text(
        f"""
        title = "Locust's users"
        options = ["--engine", "locust", "-k"]
        time = 1
        concurrencies = [1, 4]
        urls = {{page = "{server.url}a.html"}}
        variants = [{{name = "as it is", apply = ["true"]}}, {{name = "again", apply = ["true"]}}]
        """
    )
    out = tmp_path / "out"
    done = loadtop("experiment", "--headless", "--out", str(out), str(tmp_path / "plan.toml"))
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    assert len(cells) == len(list(out.glob("*.loadtop"))) == 4
    table = json.loads((out / "table.json").read_text())
    assert table["complete"]
    assert [(row["load"], row["runs"]) for row in table["rows"]] == [("c=1", 1), ("c=4", 1)] * 2
    assert all(row["rps"] > 10 and row["failed"] == 0 for row in table["rows"])
    counted = sum(cell["requests"] for row in table["rows"] for cell in row["cells"])
    # Requests that the stop cuts off are in the log, but Locust counts only what has ended.
    assert counted <= len(server.logged()) <= counted + 2 * (1 + 4)
    assert "Locust's users" in done.stdout
    refused = loadtop("experiment", "--headless", "--out", str(out), str(_with_requests(tmp_path / "plan.toml")))
    assert refused.returncode == 2
    assert "-n does not work with --engine locust" in refused.stderr
    assert wait_until(lambda: not live_processes(mark))


def _with_requests(plan: Path) -> Path:
    """The same with a number of requests, which Locust cannot keep to."""
    other = plan.with_name("requests.toml")
    other.write_text(plan.read_text().replace("time = 1", "requests = 20"))
    return other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "locust ended: No User class found!"),
        (USER.format(task="raise ValueError('my\\n  own mistake')"), "no user sent a request: my own mistake"),
        (USER.format(task="raise KeyError"), "no user sent a request: raise KeyError"),
    ],
    ids=["no-user", "mistake", "bare"],
)
def test_no_load_is_a_failure(apache: ApacheFactory, mark: str, tmp_path: Path, text: str, said: str) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text(text)
    done = loadtop("--engine", "locust", "--plan", str(plan), "-t", "2", apache().url)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(f"The load failed: no verdict\n  {said}\n")
    assert wait_until(lambda: not live_processes(mark))


def test_users_that_give_up_at_times(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(workers=12)
    plan = tmp_path / "plan.py"
    plan.write_text(USER.format(task="self.client.get('/').json()"))
    done = loadtop("--engine", "locust", "--plan", str(plan), "-t", "2", "--json", "-", server.url)
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    assert load["requests"] > 5
    assert load["message"].startswith("Locust's users stopped: ")
    assert wait_until(lambda: not live_processes(mark))


@pytest.mark.usefixtures("mark")
def test_tune_changes_the_users(apache: ApacheFactory) -> None:
    words = ("-k", "-c", "2", "--finer", "0", "--step-time", "1", "-t", "20", "-q", "--json", "-")
    done = loadtop("tune", "--engine", "locust", *words, apache(workers=12).url)
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    assert {1, 2} <= {step["concurrency"] for step in summary["steps"]}
    assert summary["knee"] is not None
