"""``loadtop watch -- COMMAND``: results of real tools, exit codes, output, and the end of all processes."""

import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from loadtop.recording.reader import Session
from tests.loads.program import LOADTOP, loadtop, summary_of, wait_until
from tests.servers.apache import Apache


def watch(*words: str) -> "subprocess.CompletedProcess[str]":
    return loadtop("watch", *words)


def printed(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found is not None, text
    return float(found[1])


def report_of(*words: str) -> str:
    done = loadtop("report", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def live_processes(mark: str) -> list[int]:
    """Return the processes with this text in environment or arguments, without zombies."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(process.name))
    return found


def test_results_of_a_tool_are_recorded(web: Apache, state: Path) -> None:
    done = watch("--", "wrk", "-t1", "-c4", "-d1s", "--latency", web.url)
    assert done.returncode == 0, done.stderr
    assert "wrk" not in done.stderr.partition("Recorded in")[0].partition("Load by")[0]
    with Session(next(state.glob("*.loadtop"))) as session:
        last = [frame.load for frame in session.frames() if frame.load is not None][-1]
    assert last.requests == printed(r"(\d+) requests in", done.stdout)
    assert last.stated_rps == printed(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert last.stated[0].p99_ms is not None
    assert last.in_flight is None
    assert last.generator is not None
    assert sum(last.generator.worker_cpu_s) > 0
    recording = str(next(state.glob("*.loadtop")))
    report = report_of("--text", recording)
    assert "Load by wrk" in report
    assert "as reported by wrk" in report


def test_values_that_a_tool_does_not_print_are_in_no_report(web: Apache, state: Path, tmp_path: Path) -> None:
    assert watch("-q", "--", "hey", "-n", "40", "-c", "2", web.url).returncode == 0
    recording = str(next(state.glob("*.loadtop")))
    text = report_of("--text", recording)
    assert "received - kB" in text
    assert re.search(r"connect +not measured", text)
    assert re.search(r"\| *40 \| *0 \| *0 \|[^|]+\| *- *\|", report_of("--markdown", recording))
    assert "Total transferred" not in report_of("--ab", recording)
    report_of("--html", str(tmp_path / "page.html"), recording)
    assert "<td>-</td>" in (tmp_path / "page.html").read_text()


def test_a_script_is_shown_and_its_tool_is_found(web: Apache) -> None:
    done = watch("--json", "-", "--", "sh", "-c", f"echo begins; ab -q -n 50 {web.url}; exit 7")
    assert done.returncode == 7
    load = summary_of(done.stdout)["load"]
    assert (load["engine"], load["requests"]) == ("ab", 50)
    assert "exit code 7" in load["message"]


def test_output_is_passed_on_as_it_is() -> None:
    command = [*LOADTOP, "watch", "-q", "--", "sh", "-c", r"printf 'a\033[31m\0b\nno end'; printf 'oops\n' >&2; exit 3"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (3, b"a\x1b[31m\0b\nno end")
    assert b"oops\n" in done.stderr


def test_nothing_unescaped_reaches_a_terminal() -> None:
    master, slave = pty.openpty()
    command = [*LOADTOP, "watch", "-q", "--headless", "--", "printf", r"evil\033]0;title\007\n"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL, timeout=30)
    os.close(slave)
    said = os.read(master, 4096)
    os.close(master)
    assert done.returncode == 0
    assert b"\x1b" not in said
    assert b"evil\\x1b]0;title\\x07" in said


def test_a_command_that_is_missing_or_cannot_be_run(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF and nothing more")
    broken.chmod(0o755)
    for word, expected in (
        ("no-such-tool", "not found on PATH"),
        (str(tmp_path / "none"), "cannot find"),
        (str(plain), "is not executable"),
        (str(broken), "cannot run"),
    ):
        done = watch("--", word)
        assert done.returncode == 2, done.stderr
        assert expected in done.stderr
    assert watch("--").returncode == 2


def test_secrets_are_not_recorded(state: Path) -> None:
    watch("-q", "--", "true", "-a", "user:opensesame", "-H", "X-Api-Key: opensesame", "-Auser:opensesame")
    recording = next(state.glob("*.loadtop"))
    assert b"opensesame" not in b"".join(path.read_bytes() for path in state.iterdir())
    with Session(recording) as session:
        assert session.meta.command_line[:3] == ("watch", "-q", "--")


def test_it_ends_after_the_given_time() -> None:
    started = time.monotonic()
    done = watch("-t", "1", "--", "sleep", "60")
    assert (done.returncode, time.monotonic() - started < 20) == (0, True)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_no_process_is_left(name: str) -> None:
    mark = f"mark-{name}-{os.getpid()}-{time.monotonic_ns()}"
    script = "trap '' INT TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 98 & sleep 99' & sleep 97"
    environment = {**os.environ, "LEFT_BEHIND": mark}
    command = [*LOADTOP, "watch", "-q", "--no-record", "--", "sh", "-c", script]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as program:
        try:
            assert wait_until(lambda: len(live_processes(mark)) >= 7)
            program.send_signal(getattr(signal, name))
            program.wait(20)
        finally:
            program.kill()
    assert wait_until(lambda: not live_processes(mark)), live_processes(mark)
    assert program.returncode == (-9 if name == "SIGKILL" else 130)
