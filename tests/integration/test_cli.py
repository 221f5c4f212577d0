"""The program as it is called: exit codes, JSON, recordings, and what is left when it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from loadtop.recording.reader import Session
from tests.loads.program import children, lives, loadtop, started, summary_of, wait_until
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.program import free_port

WAITING = {"page.php": "<?php usleep(100000); echo 'waited';"}
ENDINGS = {"SIGINT": 130, "SIGTERM": 130, "SIGHUP": 130}


def figures(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    return summary_of(done.stdout)


def served(server: Apache) -> int:
    """Requests logged so far, while the load runs (``logged`` waits until the log is at rest)."""
    return sum("page.php" in line for line in server.access_log.read_text().splitlines())


@pytest.mark.parametrize("keepalive", [(), ("-k",)])
def test_the_count_equals_apaches_log(apache: ApacheFactory, state: Path, keepalive: tuple[str, ...]) -> None:
    server = apache(mpm="prefork", workers=10, pages={"index.html": "x" * 1000})
    done = loadtop(*keepalive, "-n", "2000", "-c", "8", "--json", "-", server.url)
    assert done.returncode == 0, done.stderr
    load = figures(done)["load"]
    logged = server.logged()
    assert (load["requests"], load["failed"], load["non_2xx"]) == (2000, 0, 0)
    assert len(logged) == 2000
    assert load["received_bytes"] == sum(request.sent_bytes for request in logged)
    assert load["body_bytes"] == 2_000_000
    assert load["keepalive_requests"] == (2000 if keepalive else 0)
    assert list(state.glob("*.loadtop"))


def test_the_summary_knows_the_machine_and_the_server(waiting: Apache, state: Path) -> None:
    done = loadtop("-t", "4", "--interval", "0.5", "-c", "3", "--json", "-", f"{waiting.url}page.php")
    summary = figures(done)
    host = summary["hosts"][0]
    assert (summary["schema"], summary["url"]) == ("loadtop.summary/1", f"{waiting.url}page.php")
    assert (host["role"], host["source"]) == ("target+generator", "local")
    assert host["samples"] >= 3
    assert host["stale"] < host["samples"]  # 0 where no other test keeps the machine busy
    assert host["apache"]["mpm"] == "prefork"
    assert host["apache"]["capacity"] == 6
    assert 3 <= host["apache"]["busy"]["max"] <= 6
    assert host["httpd"]["processes"]["mean"] >= 4
    assert len(host["cores"]) == os.cpu_count()
    assert abs(sum(host["cpu"][name]["mean"] for name in ("user", "nice", "system", "idle", "iowait", "steal",
                                                          "irq", "softirq")) - 100) < 0.1  # fmt: skip
    assert summary["load"]["latency_ms"]["p50"] == pytest.approx(100, rel=0.5)
    assert "MaxRequestWorkers" not in summary["verdict"]["advice"]
    assert list(state.glob("*.loadtop"))


def test_a_recording_gives_the_same_summary_again(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(mpm="prefork", php="mod", workers=4, pages=WAITING)
    file = tmp_path / "session"
    words = ("-t", "3", "--interval", "0.5", "-c", "12", "--record", str(file), "--json", "-")
    done = loadtop(*words, f"{server.url}page.php")
    live = figures(done)
    again = figures(loadtop("report", str(file), "--json", "-"))
    assert again == live
    assert live["verdict"]["advice"][:30] in loadtop("report", str(file)).stdout
    replayed = loadtop("replay", "--headless", str(file))
    assert replayed.returncode == 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("   ")]
    assert replayed.stderr.splitlines() == lines[: len(replayed.stderr.splitlines())]
    assert len(replayed.stderr.splitlines()) >= 4
    assert file.stat().st_mode & 0o777 == 0o600


def test_sessions_are_listed(web: Apache, state: Path) -> None:
    assert "No recordings yet" in loadtop("sessions").stdout
    loadtop("-n", "10", "-A", "me:secret", web.url)
    listed = loadtop("sessions").stdout
    assert web.url in listed
    assert str(next(state.glob("*.loadtop"))) in listed
    assert b"secret" not in b"".join(path.read_bytes() for path in state.iterdir())


def test_no_password_is_in_a_process_list(apache: ApacheFactory, state: Path) -> None:
    server = apache(mpm="prefork", php="mod", pages=WAITING)
    with started("-t", "20", "-q", "-H", "Cookie: token=hunter2", f"{server.url}page.php") as program:
        assert wait_until(lambda: served(server) > 3)
        workers = children(program.pid)
        assert workers
        for pid in workers:
            assert b"hunter2" not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert b"hunter2" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert list(state.glob("*.loadtop"))


def test_a_load_of_milliseconds_has_figures_of_the_machine(web: Apache) -> None:
    host = figures(loadtop("-n", "3", web.url, "--json", "-"))["hosts"][0]
    assert host["samples"] >= 1
    assert host["cpu"]["idle"] is not None
    assert host["memory"]["available_kb"]["mean"] > 0


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard error but those of intervals, of which a slow machine prints one before the load starts."""
    return [line for line in done.stderr.splitlines() if "  starting  " not in line]


class TestTroubles:
    """Each says what to do, and the exit code is right."""

    @pytest.mark.parametrize("options", [(), ("--ab", "-q"), ("--record", "RECORDING")])
    def test_a_refused_connection_is_an_error_and_nothing_else(
        self, tmp_path: Path, state: Path, options: tuple[str, ...]
    ) -> None:
        recording = tmp_path / "test.loadtop"
        words = [str(recording) if word == "RECORDING" else word for word in options]
        server = f"127.0.0.1:{free_port()}"
        done = loadtop(*words, "-n", "10", f"http://{server}/")
        assert (done.returncode, done.stdout) == (3, "")
        assert errors(done) == [f"loadtop: connection refused by {server}: is the server running on {server}?"]
        assert not recording.exists()
        assert not list(state.glob("*.loadtop*"))

    def test_a_load_that_continues_without_a_connection_has_a_report(self) -> None:
        done = loadtop("-r", "-n", "10", f"http://127.0.0.1:{free_port()}/")
        assert done.returncode == 3, "-r reaches nothing either"
        assert "failed           10   (connect 10)" in done.stdout

    def test_an_unknown_host(self, state: Path) -> None:
        done = loadtop("-n", "10", "http://no-such-host.invalid/")
        assert (done.returncode, done.stdout) == (3, "")
        (error,) = errors(done)
        assert error.startswith("loadtop: unknown host no-such-host.invalid (")
        assert not list(state.glob("*.loadtop*"))

    def test_scripts_get_their_json_of_a_refused_connection(self) -> None:
        done = loadtop("-n", "10", "--json", "-", f"http://127.0.0.1:{free_port()}/")
        assert done.returncode == 3
        assert figures(done)["load"]["state"] == "failed"
        assert "connection refused" in figures(done)["load"]["message"]

    @pytest.mark.parametrize("options", [("-p", "{}"), ("-u", "{}"), ("-E", "{}"), ("--urls", "{}")])
    def test_a_file_that_is_not_there(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        missing = tmp_path / "missing"
        done = loadtop(*(word.format(missing) for word in options), "-n", "1", "http://127.0.0.1:1/")
        assert done.returncode == 4
        assert done.stderr == f"loadtop: cannot read {missing}: No such file or directory\n"

    def test_a_page_that_is_not_there(self, web: Apache) -> None:
        done = loadtop("-t", "2", "--interval", "0.5", "--rate", "50", f"{web.url}nothere", "--json", "-")
        assert done.returncode == 0
        assert figures(done)["load"]["non_2xx"] == figures(done)["load"]["requests"]
        assert figures(done)["verdict"]["bottleneck"] == "errors"
        assert "404" in figures(done)["load"]["message"]

    def test_no_status_page(self, apache: ApacheFactory) -> None:
        server = apache(pages={"index.html": "x"}, status=False)
        done = loadtop("-t", "1", "--interval", "0.5", "--rate", "20", server.url, "--json", "-")
        assert done.returncode == 0
        assert figures(done)["hosts"][0]["apache"] is None
        assert figures(done)["hosts"][0]["cpu"]["idle"] is not None

    def test_a_server_that_dies_in_the_middle(self, apache: ApacheFactory) -> None:
        server = apache(mpm="prefork", php="mod", workers=6, pages=WAITING)
        with started("-t", "30", "-c", "3", "--json", "-", f"{server.url}page.php") as program:
            assert wait_until(lambda: served(server) > 10)
            server.kill()
            out, _ = program.communicate(timeout=20)
        assert program.returncode == 3
        summary = json.loads(out)
        assert summary["load"]["requests"] > 10
        assert summary["load"]["state"] == "failed"
        assert "127.0.0.1" in summary["load"]["message"]

    def test_a_rule_that_holds(self, web: Apache) -> None:
        rules = ("rps>1", "failed>0", "mean>1us", "received_kb_s>0.1")
        done = loadtop("-n", "50", *(word for rule in rules for word in ("--fail-if", rule)), web.url)
        assert done.returncode == 1
        assert all(f"--fail-if rule is true: {rule}" in done.stderr for rule in rules if rule != "failed>0")
        assert "failed>0" not in done.stderr

    def test_files_that_cannot_be_written_are_known_before_the_load(self, apache: ApacheFactory) -> None:
        server = apache(pages={"index.html": "x"})
        for option in ("--json", "--record"):
            done = loadtop("-n", "5", option, "/proc/nowhere/file", server.url)
            assert done.returncode == 4
            assert "/proc/nowhere/file" in done.stderr
        assert not server.logged()

    def test_a_recording_that_is_none(self, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.write_text("not a recording")
        for command in ("report", "replay"):
            assert loadtop(command, str(other)).returncode == 4
            assert loadtop(command, str(tmp_path / "missing")).returncode == 4

    def test_wrong_words(self) -> None:
        done = loadtop("-n", "none", "http://127.0.0.1/")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1

    def test_a_url_with_escape_sequences_does_not_reach_the_terminal(self, web: Apache) -> None:
        done = loadtop("-n", "5", "--headless", f"{web.url}\x1b[31mred")
        assert "\x1b" not in done.stdout + done.stderr


def test_nohup_lets_it_continue(web: Apache) -> None:
    with started("-t", "2", "--rate", "50", "-q", "--no-record", web.url, before=["nohup"]) as program:
        assert wait_until(lambda: bool(children(program.pid)))
        program.send_signal(signal.SIGHUP)
        out, _ = program.communicate(timeout=20)
    assert program.returncode == 0
    assert "done after 2." in out


@pytest.mark.parametrize("name", [*ENDINGS, "SIGKILL"])
def test_whatever_ends_it_ends_the_load(apache: ApacheFactory, state: Path, name: str) -> None:
    server = apache(mpm="prefork", php="mod", workers=6, pages=WAITING)
    with started("-t", "60", "-c", "3", "-q", "--interval", "0.25", f"{server.url}page.php") as program:
        assert wait_until(lambda: served(server) > 60)  # some of them in intervals that are recorded
        workers = children(program.pid)
        assert workers
        for _ in range(2):  # as timeout(1) does, and people who are in a hurry
            program.send_signal(getattr(signal, name))
            time.sleep(0.02)
        out, _ = program.communicate(timeout=30)
    assert wait_until(lambda: not any(map(lives, workers)), 10.0)
    in_all = len(server.requests())  # from then on there are no more
    with Session(next(state.glob("*.loadtop"))) as session:
        recorded = [frame.load.requests or 0 for frame in session.frames() if frame.load is not None]
    if name in ENDINGS:
        assert program.returncode == ENDINGS[name]
        assert "requests" in out
        assert recorded[-1] == in_all
    else:
        assert 0 < recorded[-1] <= in_all


class TestStreams:
    """Whatever becomes of the standard streams, a test goes on to its end and says nothing of the program's inside."""

    @pytest.mark.parametrize(
        ("shell", "code"),
        [
            (">&-", 0),
            ("<&- >&- 2>&-", 0),
            ("| true; exit ${PIPESTATUS[0]}", 0),
            ("2>&1 | true; exit ${PIPESTATUS[0]}", 0),
            *([(">/dev/full", 4)] if sys.platform == "linux" else []),
        ],
    )
    def test_no_one_reads(self, tmp_path: Path, apache: ApacheFactory, shell: str, code: int) -> None:
        server, page = apache(pages={"index.html": "x"}), tmp_path / "page.html"
        words = f"{sys.executable} -m loadtop -n 20 --json - --html {page} --no-record {server.url} {shell}"
        done = subprocess.run(
            ["bash", "-c", words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)
        assert len(server.requests()) == 20
        assert page.stat().st_size > 1000
