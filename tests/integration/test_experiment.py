"""``loadtop experiment`` on a real Apache: cells are measured and recorded, and an interrupted one goes on."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers.apache import Apache, ApacheFactory

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.fixture
def plan(apache: ApacheFactory, tmp_path: Path) -> tuple[Path, Apache]:
    server = apache(mpm="event", workers=8)
    file = tmp_path / "plan.toml"
    file.write_text(f"""
title = "Static page"
options = ["--interval", "0.25"]
time = 1
repeats = 2
concurrencies = [1, 2]
finish = ["echo finished >> log"]

[urls]
page = "{server.url}"

[[variants]]
name = "as it is"
apply = ["echo applied >> log"]
ready = "{server.url}"
""")
    return file, server


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "loadtop", "experiment", *words]


def test_interrupted_and_gone_on(plan: tuple[Path, Apache]) -> None:
    file, server = plan
    results = file.with_suffix(".results")
    with subprocess.Popen(
        command(str(file)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        ledger = results / "cells.jsonl"
        deadline = time.monotonic() + 60
        while not ledger.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.8)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    before = ledger.read_text().splitlines()
    assert 1 <= len(before) < 4
    done = subprocess.run(command(str(file)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} cells are measured already" in done.stderr
    assert ledger.read_text().splitlines()[: len(before)] == before
    figures = json.loads((results / "table.json").read_text())
    assert figures["complete"]
    assert [(row["load"], row["runs"]) for row in figures["rows"]] == [("c=1", 2), ("c=2", 2)]
    assert all(row["rps"] > 10 and row["failed"] == 0 for row in figures["rows"])
    assert len(list(results.glob("*.loadtop"))) == 4
    assert "Static page" in done.stdout
    assert (file.parent / "log").read_text().split().count("finished") == 2
    counted = sum(cell["requests"] for row in figures["rows"] for cell in row["cells"])
    assert len(server.logged()) >= counted
