"""What a test writes for the program that runs it: test cases, and the page of a job."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.junit import cases_of
from tests.loads.program import loadtop
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
    assert "Load  closed c=1  done after" in written
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
