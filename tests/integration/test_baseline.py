"""``--baseline`` as a user runs it, and the examples of the documentation."""

import asyncio
import os
import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.junit import cases_of
from tests.loads.program import LOADTOP, loadtop, summary_of
from tests.loads.scripted import scripted

DOCS = Path(__file__).parents[2] / "docs" / "ci.md"
EXAMPLES = [
    textwrap.dedent(script)
    for block in re.findall(r"^```yaml\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for script in re.findall(r"^ +- (?:run: )?\|\n((?: +.*\n)*? +loadtop .*\n)", block, re.MULTILINE)
]
SHORT = ("--interval", "0.2", "-t", "2", "-c", "4")


async def test_a_slower_server_fails_a_rule_about_the_baseline_and_the_same_one_does_not(tmp_path: Path) -> None:
    recording = tmp_path / "main.loadtop"
    rule = ("--baseline", str(recording), "--fail-if", "p50>baseline+200%")

    async def run(url: str, *words: str) -> "subprocess.CompletedProcess[str]":
        return await asyncio.to_thread(loadtop, "-q", *SHORT, *words, url)

    async with scripted(pause_s=0.03) as server:
        assert (await run(server.url, "--record", str(recording))).returncode == 0
        same = await run(server.url, "--no-record", *rule)
    async with scripted(pause_s=0.25) as slower:
        worse = await run(slower.url, "--no-record", "--json", "-", *rule)
    assert (same.returncode, worse.returncode) == (0, 1), same.stderr + worse.stderr
    assert "--fail-if rule is not true: p50>baseline+200%: " in same.stderr
    assert re.search(r"--fail-if rule is true: p50>baseline\+200%: .*; significant \(p", worse.stderr)
    assert "main has a different URL" in worse.stderr  # another port
    (found,) = summary_of(worse.stdout)["rules"]
    assert found["held"]


def test_a_baseline_that_cannot_be_read_ends_the_test_before_it_begins(tmp_path: Path) -> None:
    words = ("--baseline", str(tmp_path / "none.loadtop"), "--fail-if", "p99>baseline", "http://127.0.0.1:9/")
    done = loadtop(*words)
    assert done.returncode == 4
    assert "none.loadtop: no such file (loadtop sessions list shows the recordings)" in done.stderr


@pytest.mark.parametrize("script", EXAMPLES, ids=("GitHub", "GitLab"))
async def test_the_examples_for_ci_run_as_they_are_documented(script: str, tmp_path: Path) -> None:
    program = tmp_path / "loadtop"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(LOADTOP)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    async def run(url: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PATH": path, "LOAD": shlex.join(SHORT), "TARGET": url}
        return await asyncio.to_thread(
            subprocess.run,
            ["sh", "-ec", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    async with scripted(pause_s=0.01) as server:
        first = await run(server.url)
        (tmp_path / "new.loadtop").rename(tmp_path / "main.loadtop")
        second = await run(server.url)
    assert first.returncode == 0, first.stderr
    cases = cases_of((tmp_path / "loadtop.xml").read_text(encoding="utf-8"))
    assert [case.name for case in cases] == ["failed>1%", "p99>baseline+10%", "rps<baseline-5%"]
    # Beside other tests the same server may be slower than before, and then the job fails.
    assert second.returncode == int(any(case.result == "Failure" for case in cases)), second.stderr
