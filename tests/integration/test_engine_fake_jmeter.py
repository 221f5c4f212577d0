"""``--engine jmeter`` with a fake JMeter that prints what JMeter 5.6.3 printed, so that no Java is needed.
`make test-engines` runs JMeter itself."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.loads.engines import command_line, files_left, mark_processes, nothing_left, output_after, remote_machine
from tests.loads.processes import marked
from tests.loads.program import loadtop, started, summary_of, wait_until
from tests.servers.sshd import SshdFactory

ROWS = Path(__file__).parents[1] / "fixtures" / "engines" / "jmeter.csv"
URL = "http://127.0.0.1:9/"
STARTED = f"""
    while [ $# -gt 0 ]; do
        [ "$1" != -l ] || rows=$2
        shift
    done
    echo "Starting standalone test @ 2026 Nov 21 11:23:44 UTC (1795260224732)"
    cat {ROWS} > "$rows"
"""
ENDED = """
    echo "Tidying up ...    @ 2026 Nov 21 11:23:47 UTC (1795260227797)"
    echo "... end of run"
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    programs = tmp_path / "programs"
    programs.mkdir()
    put(programs / "java", "")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)  # a fake that has it is on the other machine
    return mark_processes(monkeypatch, tmp_path, programs)


@pytest.fixture
def jmeter(tmp_path: Path, mark: str) -> Path:  # noqa: ARG001 - PATH is set there
    return tmp_path / "programs" / "jmeter"


def put(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)


def test_rows_of_two_machines_are_one_load(jmeter: Path, mark: str, sshd: SshdFactory, tmp_path: Path) -> None:
    slower = f"sleep 1.5\n{STARTED}".replace("cat /", r"sed -E 's/^([0-9]{13},)/\11000/' /")
    put(jmeter, f'if [ "$SSH_CONNECTION" ]; then {slower} else {STARTED} fi\n{ENDED}')
    place = remote_machine(sshd, tmp_path, mark)
    words = ("--generator", f"g1={place}", "--generator", "me=local", "-n", "32", "-c", "2", "--json", "-", URL)
    done = loadtop("--engine", "jmeter", *words)
    assert done.returncode == 0, done.stderr
    load = summary_of(done.stdout)["load"]
    assert (load["engine"], load["state"], load["requests"], load["failed"]) == ("jmeter", "done", 32, 14)
    assert (load["failures"]["connect"], load["failures"]["unclassified"], load["non_2xx"]) == (8, 6, 16)
    assert load["latency_source"] == "measured"
    assert (load["latency_ms"]["min"], load["latency_ms"]["max"]) == (0, 100_025)
    assert load["message"] == "/: Connect to 127.0.0.1:1 [/127.0.0.1] failed: Connection refused"
    nothing_left(mark)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_no_process_is_left(jmeter: Path, mark: str, tmp_path: Path, name: str) -> None:
    put(jmeter, f"{STARTED}\n touch {tmp_path}/started\n sleep 60")
    with started("--json", "-", "--engine", "jmeter", "-t", "60", URL) as program:
        assert wait_until((tmp_path / "started").exists)
        out = output_after(program, name, mark)
    if name == "SIGINT":
        assert summary_of(out)["load"]["state"] == "stopped"


@pytest.mark.parametrize("killed", ["programs/jmeter\0-n\0", "process_guard.py", "sh\0-c\0"])
def test_no_process_is_left_whichever_is_killed(jmeter: Path, mark: str, tmp_path: Path, killed: str) -> None:
    put(jmeter, f"{STARTED}\n touch {tmp_path}/started\n sleep 60")
    with started("--headless", "-q", "--no-record", "--engine", "jmeter", "-t", "60", URL) as program:
        assert wait_until((tmp_path / "started").exists)
        victims = [pid for pid in marked(mark, killed) if pid != program.pid]
        assert victims
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):  # the end of another may have been its own
                os.kill(pid, signal.SIGKILL)
        _, told = program.communicate(timeout=30)
    assert program.returncode == 3, told
    assert wait_until(lambda: not marked(mark), 5.0), [command_line(pid) for pid in marked(mark)]
    assert not files_left()


def test_it_gives_the_reason_for_a_missing_load(jmeter: Path, mark: str) -> None:
    for script, expected in (
        ("echo 'Error in NonGUIDriver java.io.Problem: odd'; exit 1", "jmeter ended: java.io.Problem: odd"),
        ("echo 'Error in NonGUIDriver x.ForbiddenClassException: y'", "Debian's JMeter 2.13 needs libbsh-java"),
        ("echo 'Error in NonGUIDriver x.y: Following remote engines could not be configured:[s]'", "rmi_keystore.jks"),
        (f"{STARTED.replace(str(ROWS), os.devnull)}{ENDED}", "ended without a request"),
    ):
        put(jmeter, script)
        done = loadtop("--engine", "jmeter", "-q", "-t", "5", URL)
        assert done.returncode == 3, done.stderr
        assert expected in " ".join((done.stderr + done.stdout).split())
    jmeter.unlink()
    nothing_left(mark)


def test_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = loadtop("--engine", "jmeter", "-t", "1", URL)
    assert done.returncode == 2
    assert "JMeter is not installed on this machine: unpack Apache JMeter" in done.stderr
