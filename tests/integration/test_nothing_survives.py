"""No process of a test is left 5 s after any end, whichever of them is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.loads.engines import LOCUST, files_left, mark_processes, remote_machine, require_locust
from tests.loads.processes import mark_environment, marked
from tests.loads.program import wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.sshd import SshdFactory

GONE_S = 20.0
QUIET = ("--headless", "-q", "--no-record")


@contextmanager
def started(*words: str) -> Generator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "loadtop", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def kill_and_wait(mark: str, program: "subprocess.Popen[str]", *words: str) -> str:
    """Kill the processes whose command lines have these words, loadtop itself for none; returns what it still said."""
    for pid in [pid for pid in marked(mark, *words) if pid != program.pid] if words else [program.pid]:
        os.kill(pid, signal.SIGKILL)
    said, _ = program.communicate(timeout=GONE_S + 20)
    assert wait_until(lambda: not marked(mark), GONE_S), [
        Path(f"/proc/{pid}/cmdline").read_bytes() for pid in marked(mark)
    ]
    return said


@pytest.mark.parametrize("killed", [(), ("loadtop.generator.worker",)], ids=["loadtop", "worker"])
def test_of_the_built_in_load(apache: ApacheFactory, monkeypatch: pytest.MonkeyPatch, killed: tuple[str, ...]) -> None:
    server = apache(pages={"index.html": "x"}, workers=8)
    mark = mark_environment(monkeypatch)
    with started(*QUIET, "--rate", "50", "-t", "60", "--workers", "2", server.url) as program:
        assert wait_until(lambda: server.access_log.read_text().count("GET / ") > 50)
        assert len(marked(mark, "loadtop.generator.worker")) == 2
        said = kill_and_wait(mark, program, *killed)
    if killed:
        assert program.returncode == 3
        assert "a generator process ended unexpectedly (exit code -9)" in said


@pytest.mark.parametrize("killed", [(), ("process_guard.py",), ("sh\0-c",)], ids=["loadtop", "guard", "command"])
def test_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: tuple[str, ...]) -> None:
    mark = mark_environment(monkeypatch)
    running = tmp_path / "running"
    script = f"sleep 300 & sleep 301 & touch {running}; wait; :"
    with started("watch", *QUIET, "--", "sh", "-c", script) as program:
        assert wait_until(running.exists)
        assert wait_until(lambda: len(marked(mark, "sleep\x0030")) >= 2)
        kill_and_wait(mark, program, *killed)


@contextmanager
def experimenting(place: str, tmp_path: Path, mark: str) -> Generator["subprocess.Popen[str]"]:
    """An experiment whose first command has started two processes and waits for one of them."""
    running, plan = tmp_path / "running", tmp_path / "plan.toml"
    plan.write_text(f"""
options = ["--host", "web={place}"]
requests = 1
concurrencies = [1]
urls = "http://127.0.0.1:9/"
[[variants]]
name = "never ready"
host = "web"
apply = ["sleep 300 & touch {running}; sleep 301"]
""")
    with started("experiment", "-q", str(plan)) as program:
        assert wait_until(lambda: running.exists() and len(marked(mark, "sleep\x0030")) >= 2)
        yield program


@pytest.mark.parametrize(
    ("far", "killed"),
    [(False, ""), (False, "process_guard.py"), (False, "sleep\x00301"), (True, ""), (True, "BatchMode=yes")],
    ids=["loadtop", "guard", "command", "loadtop-far", "ssh"],
)
def test_of_the_commands_of_an_experiment(
    sshd: SshdFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: bool, killed: str
) -> None:
    mark = mark_environment(monkeypatch)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    place = remote_machine(sshd, tmp_path, mark) if far else "local"
    with experimenting(place, tmp_path, mark) as program:
        assert "Traceback" not in kill_and_wait(mark, program, *filter(None, [killed]))


@pytest.mark.parametrize("number", range(3))
def test_of_a_remote_command_that_lost_one_of_its_guards(
    sshd: SshdFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    mark = mark_environment(monkeypatch)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with experimenting(remote_machine(sshd, tmp_path, mark), tmp_path, mark) as program:
        shell = "sh\0-c\0# Runs the shell command"
        assert wait_until(lambda: len(marked(mark, shell)) == 3)
        os.kill(sorted(marked(mark, shell))[number], signal.SIGKILL)
        kill_and_wait(mark, program)


@pytest.mark.locust
@pytest.mark.parametrize(
    "killed",
    [(), ("bin/locust\0-f", "--master\0"), ("bin/locust\0-f", "--worker\0"), ("process_guard.py",)],
    ids=["loadtop", "master", "workers", "guards"],
)
def test_of_locust(
    apache: ApacheFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: tuple[str, ...]
) -> None:
    require_locust()
    server = apache(pages={"index.html": "x"}, workers=8)
    mark = mark_processes(monkeypatch, tmp_path, LOCUST)
    with started(*QUIET, "--engine", "locust", "-t", "60", "-c", "2", "--workers", "2", server.url) as program:
        assert wait_until(lambda: server.access_log.read_text().count("GET / ") > 50, 60)
        kill_and_wait(mark, program, *killed)
    assert not files_left(), "the plan with its secrets is removed"
