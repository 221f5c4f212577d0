"""``--engine jmeter``: the load is what the server logged, here and by SSH; no process is left, however it ends."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.loads.engines import live_processes, mark_processes, nothing_left, output_after, remote_machine
from tests.loads.program import loadtop, started, summary_of, wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

pytestmark = pytest.mark.engines

JMETER = Path(sys.prefix) / "jmeter" / "bin"


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if not (JMETER / "jmeter").exists():
        pytest.fail("this test needs JMeter: make test-engines", pytrace=False)
    return mark_processes(monkeypatch, tmp_path, JMETER)


@pytest.fixture
def remote_place(sshd: SshdFactory, tmp_path: Path, mark: str) -> str:
    return remote_machine(sshd, tmp_path, mark)


def user_plan(tmp_path: Path, url: str, threads: str = "${__P(threads,2)}") -> Path:
    """Return a plan such as users have."""
    from loadtop.engines.jmeter.plan import jmx
    from loadtop.generator.plan import Plan, Step, Target

    text = jmx(Plan((Target.parse(f"{url}own.html"),), (Step(concurrency=77, duration_s=2),)))
    plan = tmp_path / "plan.jmx"
    plan.write_text(text.replace(">77<", f">{threads}<"))
    return plan


def test_exactly_as_many_requests_as_requested(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(pages={"a.html": "x" * 1000, "b.html": "y"}, workers=12)
    (tmp_path / "urls").write_text(f"{server.url}a.html 3\n{server.url}b.html 1\n")
    (tmp_path / "body").write_text("\n one\r\ntwo <&> ü")
    done = loadtop(
        "--engine", "jmeter", "-n", "301", "-c", "4", "-k", "-H", 'X-Test: a,"b" <&>', "-p", str(tmp_path / "body"),
        "--json", "-", "--urls", str(tmp_path / "urls"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    load, logged = summary_of(done.stdout)["load"], server.logged()
    assert (load["engine"], load["requests"], len(logged), load["failed"]) == ("jmeter", 301, 301, 0)
    assert (load["latency_source"], load["keepalive_requests"]) == ("measured", None)
    assert load["received_bytes"] > 100_000
    assert load["latency_ms"]["p50"] <= load["latency_ms"]["max"]
    assert load["connect_ms"]["max"] <= load["latency_ms"]["max"]
    assert sum(request.reused > 0 for request in logged) > 250
    assert 150 < sum("a.html" in request.line for request in logged) < 280
    nothing_left(mark)


def test_steps_here_and_on_a_remote_machine(apache: ApacheFactory, remote_place: str, mark: str) -> None:
    server = apache(workers=12)
    done = loadtop(
        "--engine", "jmeter", "--generator", f"g1={remote_place}", "--generator", "me=local", "--steps", "2,4",
        "--step-time", "2", "--warmup", "1", "--json", "-", server.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    assert [step["concurrency"] for step in summary["steps"]] == [2, 4]
    assert all(step["requests"] > 10 for step in summary["steps"])
    assert 0 < summary["load"]["requests"] < len(server.logged())
    assert {host["name"] for host in summary["hosts"]} == {"g1", "local"}
    nothing_left(mark)


@pytest.mark.usefixtures("mark")
def test_a_plan_of_the_user(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(pages={"own.html": "mine"}, workers=12)
    plan = user_plan(tmp_path, server.url)
    done = loadtop("--engine", "jmeter", "--plan", str(plan), "-c", "3", "--json", "-")
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    assert summary["url"] == f"{server.url}own.html"
    assert summary["load"]["requests"] == len(server.logged()) > 10
    assert summary["load"]["concurrency"] == 3


@pytest.mark.usefixtures("mark")
def test_answers_and_errors_are_distinguished(apache: ApacheFactory) -> None:
    server = apache(workers=12)
    done = loadtop("--engine", "jmeter", "-n", "20", "--json", "-", server.url, f"{server.url}none.html")
    load, logged = summary_of(done.stdout)["load"], server.logged()
    missing = sum("none.html" in request.line for request in logged)
    assert (load["requests"], load["non_2xx"], load["failures"]["unclassified"]) == (20, missing, missing)
    gone = loadtop("--engine", "jmeter", "-n", "3", "http://127.0.0.1:1/")
    assert gone.returncode == 3
    assert "no connection succeeded" in gone.stderr


def test_debians_package_reads_plans_too(
    apache: ApacheFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Path(find_program("jmeter", install="apt-get install jmeter jmeter-http")).parent
    mark = mark_processes(monkeypatch, tmp_path, programs)
    server = apache(pages={"own.html": "mine"}, workers=12)
    done = loadtop("--engine", "jmeter", "-n", "41", "-c", "4", "-k", "--json", "-", server.url)
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    assert (load["requests"], len(server.logged()), load["failed"], load["sent_bytes"]) == (41, 41, 0, None)
    assert load["latency_ms"]["max"] > 0
    plan = user_plan(tmp_path, server.url)
    assert loadtop("--engine", "jmeter", "--plan", str(plan), "-c", "3").returncode == 0
    assert len(server.logged()) > 50
    nothing_left(mark)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_no_process_is_left_on_any_machine(apache: ApacheFactory, remote_place: str, mark: str, name: str) -> None:
    server = apache(workers=12)
    words = ("--generator", f"g1={remote_place}", "--generator", "me=local", server.url)
    with started("--json", "-", "--engine", "jmeter", "-t", "60", "-c", "4", *words) as program:
        assert wait_until(lambda: len(server.access_log.read_text().splitlines()) > 50, 80)
        out = output_after(program, name, mark)
    if name == "SIGINT":
        assert summary_of(out)["load"]["requests"] > 0


def test_a_lost_machine_is_reported_and_the_rest_continues(apache: ApacheFactory, remote_place: str, mark: str) -> None:
    server = apache(workers=12)
    words = ("--generator", f"g1={remote_place}", "--generator", "me=local", server.url)
    with started("--json", "-", "--engine", "jmeter", "-t", "20", "-c", "4", *words) as program:
        assert program.stderr is not None
        assert any("c=4" in line for line in program.stderr)  # it has started on both
        java = live_processes(mark, "java", "ApacheJMeter.jar")
        os.kill(java[0], signal.SIGKILL)
        killed = time.monotonic()
        line = ""
        while "1 of 2 continue" not in line and time.monotonic() < killed + 20:
            line = program.stderr.readline()
        assert time.monotonic() < killed + 15
        out, told = program.communicate(timeout=60)
    assert program.returncode == 0, told
    assert summary_of(out)["load"]["state"] == "done"


@pytest.mark.usefixtures("mark")
def test_tune_changes_the_threads(apache: ApacheFactory) -> None:
    server = apache(workers=12)
    done = loadtop(
        "tune", "--engine", "jmeter", "-k", "-c", "2", "--finer", "0", "--step-time", "2", "-t", "30", "-q", "--json",
        "-", server.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert {1, 2} <= {step["concurrency"] for step in summary["steps"]}
    assert summary["knee"] is not None


@pytest.mark.usefixtures("mark")
def test_a_cell_of_an_experiment(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(workers=12)
    (tmp_path / "plan.toml").write_text(
        f"""
        options = ["--engine", "jmeter", "-k"]
        requests = 40
        concurrencies = [1, 2]
        urls = {{page = "{server.url}"}}
        variants = [{{name = "as it is", apply = ["true"]}}]
        """
    )
    done = loadtop("experiment", "--headless", "--out", str(tmp_path / "out"), str(tmp_path / "plan.toml"))
    assert done.returncode == 0, done.stderr
    cells = [json.loads(line) for line in (tmp_path / "out" / "cells.jsonl").read_text().splitlines()]
    assert len(cells) == 2
    assert len(server.logged()) == 80


def test_broken_plans(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    url = apache().url
    (tmp_path / "wrong.jmx").write_text("<x")
    (tmp_path / "other.jmx").write_text("<x/>")
    plan = user_plan(tmp_path, url, threads="1")
    lost = tmp_path / "lost.jmx"
    lost.write_text(plan.read_text().replace("HTTPSamplerProxy", "NoSuchSampler"))
    for words, code, expected in (
        (("--plan", str(tmp_path / "none.jmx")), 4, "No such file"),
        (("--plan", str(tmp_path / "wrong.jmx")), 2, "is not XML: unclosed token"),
        (("--plan", str(tmp_path / "other.jmx")), 2, "is not a JMeter plan"),
        (("--plan", str(plan), "-c", "2"), 2, "does not read the property `threads`"),
        (("--plan", str(plan), "-k"), 2, "-k has no effect with --plan"),
        (("--plan", str(lost)), 2, "Add that server's URL"),
        (("--plan", str(lost), url), 3, "CannotResolveClassException: NoSuchSampler"),
    ):
        done = loadtop("--engine", "jmeter", *words)
        assert done.returncode == code, done.stderr
        assert expected in done.stderr + done.stdout
    assert wait_until(lambda: not live_processes(mark))
