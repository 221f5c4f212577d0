"""What a test has for other programs: test cases, the page of a job, live metrics."""

import asyncio
import socket
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.junit import cases_of
from tests.loads.program import loadtop, started, wait_until
from tests.loads.scripted import scripted
from tests.servers.program import free_port

RULES = ("--fail-if", "mean>1us", "--fail-if", "failed>50%")


async def run(url: str, cases: Path) -> "subprocess.CompletedProcess[str]":
    words = ("--no-record", "-n", "20", "--junit", str(cases), *RULES, url)
    return await asyncio.to_thread(loadtop, *words)


async def test_rules_are_test_cases_and_the_report_is_added_to_the_page_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, page = tmp_path / "cases.xml", tmp_path / "page.md"
    page.write_text("# Before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    async with scripted() as server:
        done = await run(server.url, cases)
    assert done.returncode == 1
    written = cases.read_text(encoding="utf-8")
    assert [(case.name, case.result) for case in cases_of(written)] == [("mean>1us", "Failure"), ("failed>50%", "")]
    assert "Load  closed model, 1 connection  done after" in written
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Before\n# Load test of {server.url}\n")
    assert "| 20 |" in text


def test_a_load_that_failed_is_an_error_in_every_case(tmp_path: Path) -> None:
    cases = tmp_path / "cases.xml"
    done = loadtop("-n", "20", "--junit", str(cases), *RULES, f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 3
    found = cases_of(cases.read_text(encoding="utf-8"))
    assert [(case.result, "connection refused" in case.message) for case in found] == [("Error", True)] * 2


async def test_a_page_that_cannot_be_written_fails_no_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "page.md"))
    async with scripted() as server:
        done = await run(server.url, tmp_path / "cases.xml")
    assert done.returncode == 1
    assert "cannot write to GITHUB_STEP_SUMMARY" in done.stderr
    assert (tmp_path / "cases.xml").exists()


async def test_live_metrics_are_served_while_the_load_runs() -> None:
    port = free_port()
    words = ("--no-record", "-q", "--interval", "0.2", "-t", "20", "--openmetrics", str(port))
    async with scripted(pause_s=0.01) as server:
        with started(*words, f"{server.url}?token=hunter2") as program:
            url = f"http://127.0.0.1:{port}/metrics"
            await asyncio.to_thread(wait_until, lambda: 'loadtop_cpu_idle{host="local"}' in page(url))
            text = page(url)
            assert text.endswith("# EOF\n")
            assert "loadtop_load_requests_total " in text
            assert "hunter2" not in text
            assert page(f"http://127.0.0.1:{port}/") == ""
            program.terminate()
            await asyncio.to_thread(program.wait, 20)


def page(url: str) -> str:
    """Empty where there is none."""
    try:
        with urlopen(url, timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            return str(answer.read(), "utf-8")
    except OSError:
        return ""


def test_a_port_that_is_taken_is_reported_before_anything_is_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = loadtop("-n", "1", "--openmetrics", str(port), "http://127.0.0.1:9/")
    assert done.returncode == 4
    assert done.stderr == f"loadtop: --openmetrics: cannot listen on 127.0.0.1 port {port}: Address already in use\n"


async def test_histograms_of_a_test_are_those_of_its_recording(tmp_path: Path) -> None:
    live, exported, recording = tmp_path / "live.hlog", tmp_path / "exported.hlog", tmp_path / "test.loadtop"
    async with scripted(pause_s=0.01) as server:
        words = ("-q", "-t", "2", "--interval", "0.25", "--hdr", str(live), "--record", str(recording), server.url)
        done = await asyncio.to_thread(loadtop, *words)
    assert done.returncode == 0, done.stderr
    assert loadtop("export", "--hdr", str(exported), str(recording)).returncode == 0
    rows = [[line for line in file.read_text().splitlines() if line[0] != "#"] for file in (live, exported)]
    assert rows[0] == rows[1]
    assert len(rows[0]) >= 4
