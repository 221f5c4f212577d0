"""``loadtop tune`` on a real Apache with four workers: the knee, the table, the setting, the recording.

Which limit is named is the lab's business: a machine that is busy with something else has another one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.loads.program import loadtop
from tests.servers.apache import ApacheFactory

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]

WAITING = "<?php usleep(20000); echo 'waited';"


@pytest.mark.quiet("a busy machine has another knee")
def test_a_full_pool_is_found_and_raised(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(mpm="prefork", php="mod", workers=4, pages={"page.php": WAITING})
    json_file, recording = tmp_path / "tune.json", tmp_path / "tune.loadtop"
    done = loadtop(
        "tune", "--headless", "--json", str(json_file), "--record", str(recording), "--apache", server.status_url,
        "--interval", "0.25", "--step-time", "1", "-c", "16", "--finer", "1", "-t", "60",
        "--html", str(tmp_path / "tune.html"), "--fail-if", "rps>1", f"{server.url}page.php",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "--fail-if rule is true: rps>1" in done.stderr
    assert "<svg" in (tmp_path / "tune.html").read_text()
    figures: dict[str, Any] = json.loads(json_file.read_text())
    assert figures["schema"] == "loadtop.summary/1"
    assert [step["concurrency"] for step in figures["steps"]][:4] == [1, 2, 4, 8]
    # At four, workers wait a moment for each next connection: eight may gain 3 %. A round more in a second is 2 %.
    assert 3 <= figures["knee"]["concurrency"] <= 8
    assert figures["knee"]["rps"] == pytest.approx(4 / 0.02, rel=0.25)
    sizing = figures["sizing"]
    assert sizing["setting"] == "MaxRequestWorkers"
    assert 4 <= sizing["max_request_workers"] <= 17
    assert sizing["per_process_kb"] > 500
    assert "Knee: " in done.stdout
    assert f"MaxRequestWorkers   {sizing['value']}" in done.stdout
    assert "  16 " in done.stderr
    assert recording.exists()
    assert len(server.logged()) == pytest.approx(figures["load"]["requests"], abs=20)


def test_a_target_that_is_not_there() -> None:
    done = loadtop("tune", "--headless", "--no-record", "http://127.0.0.1:9/")
    assert done.returncode == 3
    assert "127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr
