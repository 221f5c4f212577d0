"""``--engine locust``: the load is what the server logged, here and by SSH; nothing of it is left, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers.apache import ApacheFactory
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

LOCUST = Path(sys.prefix) / "engines" / "bin"


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Locust is on PATH; every process of the test has this text in its environment, here and over SSH."""
    if not (LOCUST / "locust").exists():
        pytest.fail("this test needs Locust: make engines", pytrace=False)
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}:{LOCUST}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TESTS_MARK", mark)
    return mark


@pytest.fixture
def far(sshd: SshdFactory, tmp_path: Path, mark: str) -> str:
    """The place of a far machine on which Locust is installed."""
    server = sshd(alias="gen1", extra=f"SetEnv TESTS_MARK={mark} TMPDIR={tmp_path} PATH={os.environ['PATH']}")
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {find_program("ssh", install="openssh-client")} -F {server.config} "$@"\n')
    ssh.chmod(0o755)
    return "ssh://gen1"


def loadtop(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "loadtop", "--engine", "locust", *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)


@contextmanager
def started(*words: str) -> Generator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "loadtop", "--engine", "locust", "--json", "-", *words]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def figures(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)
    return holds()


def living(mark: str, *words: str) -> list[int]:
    """The processes of Locust and of loadtop in this test whose command line has all these words."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
            environment = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        ours = "locust" in line or "keeper.py" in line
        if ours and mark in environment and all(word in line for word in words) and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def test_a_plan_of_ours_on_this_machine(apache: ApacheFactory, mark: str, tmp_path: Path) -> None:
    server = apache(pages={"a.html": "x" * 1000, "b.html": "y" * 500}, workers=12)
    done = loadtop(
        "-t", "2", "-c", "6", "--workers", "2", "-k", "-H", "X-Test: yes", "--json", "-", "--fail-if", "rps<1",
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
        "--plan", str(plan), "--generator", f"g1={far}", "--steps", "2,4", "--step-time", "1.5", "--json", "-",
        server.url,
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


def test_a_lost_worker_is_told_and_the_rest_goes_on(apache: ApacheFactory, mark: str) -> None:
    server = apache(workers=12)
    with started("-t", "7", "-c", "4", "--workers", "2", server.url) as program:
        assert until(lambda: len(server.access_log.read_text().splitlines()) > 50)
        leaves = [pid for pid in living(mark, "--worker", "--processes") if not _children(pid)]
        os.kill(leaves[-1], signal.SIGKILL)
        out, told = program.communicate(timeout=60)
    assert program.returncode == 0, told
    assert "1 of 2" in told or "missing" in told
    assert figures(out)["load"]["state"] == "done"


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_nothing_is_left_on_any_machine(apache: ApacheFactory, far: str, mark: str, tmp_path: Path, name: str) -> None:
    server = apache(workers=12)
    with started("-t", "60", "-c", "4", "--generator", f"g1={far}", "--generator", "me=local", server.url) as program:
        assert until(lambda: len(server.access_log.read_text().splitlines()) > 50)
        program.send_signal(getattr(signal, name))
        out, told = program.communicate(timeout=30)
    assert program.returncode == (130 if name == "SIGINT" else -9), told
    assert until(lambda: not living(mark)), [_line(pid) for pid in living(mark)]
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
        done = loadtop(*words, url)
        assert done.returncode == code, done.stderr
        assert expected in done.stderr + done.stdout
    assert until(lambda: not living(mark), 5)


def test_without_locust(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = loadtop("-t", "1", apache().url)
    assert done.returncode == 2
    assert "pip install 'loadtop[locust]'" in done.stderr


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[-300:]
    except OSError:
        return ""


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found
