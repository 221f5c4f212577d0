"""``loadtop experiment`` on a real Apache: cells are measured and recorded, and an interrupted one continues."""

import json
import signal
from pathlib import Path

import pytest

from tests.loads.program import loadtop, started, wait_until
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.sshd import Sshd, put_ssh

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.fixture
def plan(apache: ApacheFactory, tmp_path: Path) -> tuple[Path, Apache]:
    page = "<?php usleep(20000); echo 1;"
    server = apache(mpm="prefork", php="mod", workers=8, pages={"page.php": page})
    file = tmp_path / "plan.toml"
    file.write_text(f"""
title = "A page"
options = ["--interval", "0.25"]
time = 1
repeats = 2
concurrencies = [1, 2]
finish = ["echo finished >> log"]

[urls]
page = "{server.url}page.php"

[[variants]]
name = "as it is"
apply = ["echo applied >> log"]
ready = "{server.url}"
""")
    return file, server


def test_interrupted_and_gone_on(plan: tuple[Path, Apache]) -> None:
    file, server = plan
    results = file.with_suffix(".results")
    with started("experiment", str(file)) as process:
        ledger = results / "cells.jsonl"
        assert wait_until(lambda: ledger.exists() and ledger.read_text().endswith("\n"))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    before = ledger.read_text().splitlines()
    assert 1 <= len(before) < 4
    done = loadtop("experiment", str(file))
    assert done.returncode == 0, done.stderr
    already = "1 cell is" if len(before) == 1 else f"{len(before)} cells are"
    assert f"{already} already measured" in done.stderr
    assert ledger.read_text().splitlines()[: len(before)] == before
    figures = json.loads((results / "table.json").read_text())
    assert figures["complete"]
    assert [(row["load"], row["runs"]) for row in figures["rows"]] == [("c=1", 2), ("c=2", 2)]
    assert all(row["rps"] > 10 and row["failed"] == 0 for row in figures["rows"])
    assert len(list(results.glob("*.loadtop"))) == 4
    assert "A page" in done.stdout
    assert (file.parent / "log").read_text().split().count("finished") == 2
    counted = sum(cell["requests"] for row in figures["rows"] for cell in row["cells"])
    assert len(server.logged()) >= counted


def test_a_variant_on_a_remote_host_that_fails(machine: Sshd, web: Apache, tmp_path: Path) -> None:
    """Commands run there, what a failing one said is shown, and the first variant is brought about again."""
    log, file = tmp_path / "log", tmp_path / "plan.toml"
    file.write_text(f"""
options = ["--host", "web=ssh://web1", "--interval", "0.5"]
requests = 20
concurrencies = [1]
urls = "{web.url}"
[[variants]]
name = "first"
host = "web"
apply = ["echo first $SSH_CONNECTION >> {log}"]
[[variants]]
name = "second"
host = "web"
apply = ["echo 'no such \\\\033[31mmodule' >&2; exit 7"]
""")
    done = loadtop("experiment", str(file), env=put_ssh(tmp_path, machine.config))
    assert done.returncode == 3, done.stderr
    assert "variant second:" in done.stderr
    assert "ended with exit code 7" in done.stderr
    assert "no such" in done.stderr
    assert "\x1b" not in done.stderr
    assert "the first variant, first, is restored" in done.stderr
    lines = log.read_text().splitlines()
    assert len(lines) == 2
    assert all("127.0.0.1" in line for line in lines)
    assert [row["runs"] for row in json.loads((tmp_path / "plan.results" / "table.json").read_text())["rows"]] == [1, 0]
