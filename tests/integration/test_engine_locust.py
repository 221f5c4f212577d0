"""``--engine locust``: the load is what the server logged, here and by SSH; no process is left, however it ends."""

import os
import re
from pathlib import Path

import pytest

from loadtop.cli import main
from tests.loads.engines import (
    LOCUST,
    live_processes,
    mark_processes,
    nothing_left,
    output_after,
    remote_machine,
    require_locust,
)
from tests.loads.program import loadtop, started, summary_of, wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.sshd import SshdFactory

pytestmark = pytest.mark.locust


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    require_locust()
    return mark_processes(monkeypatch, tmp_path, LOCUST)


@pytest.fixture
def remote_place(sshd: SshdFactory, tmp_path: Path, mark: str) -> str:
    """The place of a remote machine on which Locust is installed."""
    return remote_machine(sshd, tmp_path, mark)


def print_report_at_end(tmp_path: Path) -> Path:
    """Have Locust's master print its own report when it ends; return the file with that."""
    program = tmp_path / "locust"
    program.write_text(
        f"""#!/bin/sh
        case " $* " in
        *" --master "*) exec setsid --wait {LOCUST / "locust"} "$@" > {tmp_path / "own.txt"} 2>&1 ;;
        *) exec {LOCUST / "locust"} "$@" ;;
        esac
        """
    )
    program.chmod(0o755)
    return tmp_path / "own.txt"


def told_by_locust(own: Path) -> dict[str, float]:
    """Return the values of all requests in its report, by their places in our summary."""
    assert wait_until(lambda: "Error report" in own.read_text() and own.read_text().endswith("\n\n")), own.read_text()
    counts, percentiles = re.findall(r"^ +Aggregated +(.*)$", own.read_text(), re.MULTILINE)
    requests, failed, mean, least, most, _, rps, _ = re.findall(r"[\d.]+(?![\d.]*%)", counts)
    *shares, last = map(float, percentiles.split())
    assert last == float(requests)
    named = dict(zip(("p50", "p66", "p75", "p80", "p90", "p95", "p98", "p99", "p99_9"), shares, strict=False))
    return {
        "requests": float(requests),
        "failed": float(failed),
        "rps": float(rps),
        **{f"latency_ms.{name}": value for name, value in named.items()},
        **{f"latency_ms.{name}": float(text) for name, text in (("mean", mean), ("min", least), ("max", most))},
    }


def test_our_plan_on_this_machine(
    apache: ApacheFactory, mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = print_report_at_end(tmp_path)
    server = apache(pages={"a.html": "x" * 1000, "b.html": "y" * 500}, workers=12)
    done = loadtop(
        "--engine", "locust", "-t", "2", "-c", "6", "--workers", "2", "-k", "-H", "X-Test: yes", "--json", "-",
        "--fail-if", "rps<1",
        server.url + "a.html", server.url + "b.html", server.url + "none.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    load, logged = summary["load"], server.logged()
    assert (load["engine"], load["model"], load["concurrency"], load["state"]) == ("locust", "closed", 6, "done")
    # Requests that the stop cut off are in the log, but Locust counts only what has ended.
    assert len(logged) - 6 <= load["requests"] <= len(logged)
    assert load["requests"] > 100
    assert (load["received_bytes"], load["latency_source"], load["non_2xx"]) == (None, "stated", None)
    nothing = dict.fromkeys(("connect", "receive", "length", "exceptions", "timeout"))
    assert load["failures"] == {**nothing, "unclassified": load["failed"]}
    # Locust rounds percentiles from 100 ms on to two digits, but not the maximum.
    assert load["latency_ms"]["p50"] <= load["latency_ms"]["p99"] <= load["latency_ms"]["max"] * 1.05
    assert {request.line.split()[1] for request in logged} == {"/a.html", "/b.html", "/none.html"}
    assert sum(request.reused > 0 for request in logged) > len(logged) * 0.9
    told = told_by_locust(own)
    assert told["failed"] > 0
    ours = {place: load["latency_ms"][place[11:]] if "." in place else load[place] for place in told}
    # It prints whole ms, and throughput to two digits.
    assert ours.pop("rps") == pytest.approx(told.pop("rps"), abs=0.006)
    assert {place: int(value) for place, value in ours.items()} == told
    nothing_left(mark)

    (recording,) = map(str, Path(os.environ["XDG_STATE_HOME"], "loadtop").glob("*.loadtop"))
    for words, expected in (
        (("report", "--text"), "(unclassified)"),
        (("report", "--markdown"), "(unclassified)"),
        (("report", "--ab"), f"Failed requests:        {load['failed']}\nHTML"),
        (("compare", recording), f"{load['requests']:,} requests"),
    ):
        assert main([*words, recording]) == 0
        assert expected in capsys.readouterr().out


def test_a_user_plan_in_steps_on_a_remote_machine(
    apache: ApacheFactory, remote_place: str, mark: str, tmp_path: Path
) -> None:
    server = apache(pages={"own.html": "mine"}, workers=12)
    plan = tmp_path / "plan.py"
    plan.write_text(
        "from locust import HttpUser, constant, task\n"
        "class Me(HttpUser):\n"
        "    wait_time = constant(0.01)\n"
        "    @task\n"
        "    def get(self):\n"
        "        self.client.get('/own.html')\n"
    )
    done = loadtop(
        "--engine", "locust", "--plan", str(plan), "--generator", f"g1={remote_place}", "--steps", "2,4",
        "--step-time", "3", "--json", "-", server.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = summary_of(done.stdout)
    logged = [request for request in server.logged() if "own.html" in request.line]
    assert len(logged) - 4 <= summary["load"]["requests"] <= len(logged)
    assert [step["concurrency"] for step in summary["steps"]] == [2, 4]
    roles = {host["name"]: host["role"] for host in summary["hosts"]}
    # The remote host is this one by another name, so the server runs there as well.
    assert roles == {"local": "other", "g1": "target+generator"}
    (worker,) = summary["load"]["workers"]
    assert (worker["name"], worker["host"], worker["users"]["max"]) == ("g1-1", "g1", 4)
    nothing_left(mark)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_no_process_is_left_on_any_machine(apache: ApacheFactory, remote_place: str, mark: str, name: str) -> None:
    server = apache(workers=12)
    words = ("--json", "-", "--engine", "locust", "-t", "60", "-c", "4")
    with started(*words, "--generator", f"g1={remote_place}", "--generator", "me=local", server.url) as program:
        assert wait_until(lambda: len(server.access_log.read_text().splitlines()) > 50)
        out = output_after(program, name, mark)
    if name == "SIGINT":
        assert summary_of(out)["load"]["requests"] > 0


def test_a_load_that_cannot_start_says_why(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    url = apache().url
    (tmp_path / "wrong.py").write_text("def (")
    lost = tmp_path / "lost.py"
    lost.write_text("import no_such_module")
    (tmp_path / "plan.txt").write_text("")
    for words, code, expected in (
        (("-n", "5"), 2, "-n does not work with --engine locust"),
        (("--plan", str(tmp_path / "none.py")), 4, "No such file"),
        (("--plan", str(tmp_path / "wrong.py")), 2, "line 1 is not Python"),
        (("--plan", str(tmp_path / "plan.txt")), 2, "FILE.py"),
        (("--generator", "nowhere"), 2, "NAME=ssh://"),
        (("--plan", str(lost), "-k"), 2, f"-k has no effect with --plan: {lost} defines the requests. Leave it out."),
        (("--plan", str(lost), "-t", "2"), 3, "No module named 'no_such_module'"),
    ):
        done = loadtop("--engine", "locust", *words, url)
        assert done.returncode == code, done.stderr
        assert expected in done.stderr + done.stdout
    assert wait_until(lambda: not live_processes(mark), 10)


def test_without_locust(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = loadtop("--engine", "locust", "-t", "1", apache().url)
    assert done.returncode == 2
    assert "pipx inject loadtop locust" in done.stderr
