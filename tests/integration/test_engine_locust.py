"""``--engine locust``: the load is what the server logged, here and by SSH; nothing of it is left, however it ends."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.loads.engines import far_machine, figures, line_of, living, loadtop, mark_processes, started, until
from tests.servers.apache import ApacheFactory
from tests.servers.sshd import SshdFactory

LOCUST = Path(sys.prefix) / "engines" / "bin"


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if not (LOCUST / "locust").exists():
        pytest.fail("this test needs Locust: make engines", pytrace=False)
    return mark_processes(monkeypatch, tmp_path, LOCUST)


@pytest.fixture
def far(sshd: SshdFactory, tmp_path: Path, mark: str) -> str:
    """The place of a far machine on which Locust is installed."""
    return far_machine(sshd, tmp_path, mark)


def let_locust_tell(tmp_path: Path) -> Path:
    """Have Locust's master leave its own figures at its end, which it is given the time for; the file they are in."""
    program = tmp_path / "locust"
    program.write_text(
        f"""#!/bin/sh
        case " $* " in
        *" --master "*) exec setsid --wait {LOCUST / "locust"} "$@" --json-file {tmp_path / "own"} ;;
        *) exec {LOCUST / "locust"} "$@" ;;
        esac
        """
    )
    program.chmod(0o755)
    return tmp_path / "own.json"


def test_a_plan_of_ours_on_this_machine(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    own = let_locust_tell(tmp_path)
    server = apache(pages={"a.html": "x" * 1000, "b.html": "y" * 500}, workers=12)
    done = loadtop(
        "--engine", "locust", "-t", "1", "-c", "6", "--workers", "2", "-k", "-H", "X-Test: yes", "--json", "-",
        "--fail-if", "rps<1",
        server.url + "a.html", server.url + "b.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = figures(done.stdout)
    load, logged = summary["load"], server.logged()
    assert (load["engine"], load["model"], load["concurrency"], load["state"]) == ("locust", "closed", 6, "done")
    # Requests that the stop cut off are in the log, but Locust counts only what has ended.
    assert len(logged) - 6 <= load["requests"] <= len(logged)
    assert load["requests"] > 100
    assert (load["failed"], load["received_bytes"], load["latency_source"]) == (0, None, "stated")
    assert load["latency_ms"]["p50"] <= load["latency_ms"]["p99"] <= load["latency_ms"]["max"]
    assert {request.line.split()[1] for request in logged} == {"/a.html", "/b.html"}
    assert sum(request.reused > 0 for request in logged) > len(logged) * 0.9
    told = json.loads(own.read_text())
    assert load["requests"] == sum(each["num_requests"] for each in told)
    assert load["body_bytes"] == sum(each["total_content_length"] for each in told)
    assert load["latency_ms"]["max"] == pytest.approx(max(each["max_response_time"] for each in told), abs=0.001)
    assert load["latency_ms"]["min"] == pytest.approx(min(each["min_response_time"] for each in told), abs=0.001)
    mean = sum(each["total_response_time"] for each in told) / load["requests"]
    assert load["latency_ms"]["mean"] == pytest.approx(mean, abs=0.001)
    assert until(lambda: not living(mark), 5)
    assert not list(tmp_path.glob("loadtop.*"))


def test_a_plan_of_the_user_in_steps_on_a_far_machine(
    apache: ApacheFactory, far: str, mark: str, tmp_path: Path
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
        "--engine", "locust", "--plan", str(plan), "--generator", f"g1={far}", "--steps", "2,4", "--step-time", "1",
        "--json", "-", server.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = figures(done.stdout)
    logged = [request for request in server.logged() if "own.html" in request.line]
    assert len(logged) - 4 <= summary["load"]["requests"] <= len(logged)
    assert [step["concurrency"] for step in summary["steps"]] == [2, 4]
    roles = {host["name"]: host["role"] for host in summary["hosts"]}
    # The far machine is this one by another name, so the server runs there as well.
    assert roles == {"local": "other", "g1": "target+generator"}
    assert until(lambda: not living(mark), 10), living(mark)
    assert not list(tmp_path.glob("loadtop.*"))


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_nothing_is_left_on_any_machine(apache: ApacheFactory, far: str, mark: str, tmp_path: Path, name: str) -> None:
    server = apache(workers=12)
    with started(
        "--engine", "locust", "-t", "60", "-c", "4", "--generator", f"g1={far}", "--generator", "me=local", server.url
    ) as program:
        assert until(lambda: len(server.access_log.read_text().splitlines()) > 50)
        program.send_signal(getattr(signal, name))
        out, told = program.communicate(timeout=30)
    assert program.returncode == (130 if name == "SIGINT" else -9), told
    assert until(lambda: not living(mark)), [line_of(pid) for pid in living(mark)]
    assert not list(tmp_path.glob("loadtop.*"))
    if name == "SIGINT":
        assert figures(out)["load"]["requests"] > 0


def test_what_cannot_begin_says_why(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    url = apache().url
    (tmp_path / "wrong.py").write_text("def (")
    (tmp_path / "lost.py").write_text("import no_such_module")
    (tmp_path / "plan.txt").write_text("")
    for words, code, expected in (
        (("-n", "5"), 2, "-n is not possible with --engine locust"),
        (("--plan", str(tmp_path / "none.py")), 2, "No such file"),
        (("--plan", str(tmp_path / "wrong.py")), 2, "line 1 is no Python"),
        (("--plan", str(tmp_path / "plan.txt")), 2, "FILE.py"),
        (("--generator", "nowhere"), 2, "NAME=ssh://"),
        (("--plan", str(tmp_path / "lost.py"), "-t", "2"), 3, "No module named 'no_such_module'"),
    ):
        done = loadtop("--engine", "locust", *words, url)
        assert done.returncode == code, done.stderr
        assert expected in done.stderr + done.stdout
    assert until(lambda: not living(mark), 5)


def test_without_locust(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = loadtop("--engine", "locust", "-t", "1", apache().url)
    assert done.returncode == 2
    assert "pip install 'loadtop[locust]'" in done.stderr
