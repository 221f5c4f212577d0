"""Real runs compared: the same thing twice, and a page that is really slower."""

import json
from pathlib import Path

import pytest

from tests.loads.program import loadtop
from tests.servers.apache import ApacheFactory

PAGES = {"page.php": "<?php usleep(50000); echo 1;", "slow.php": "<?php usleep(150000); echo 1;"}


@pytest.mark.quiet("compares the speed of runs")
def test_same_thing_twice_and_a_slower_one(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(mpm="prefork", php="mod", workers=6, pages=PAGES)
    runs: list[str] = []
    for name, page in (("first", "page"), ("again", "page"), ("slower", "slow")):
        runs.append(str(tmp_path / f"{name}.loadtop"))
        url = f"{server.url.rstrip('/')}/{page}.php"
        done = loadtop("-t", "3", "-c", "4", "--headless", "-q", "--interval", "0.25", "--record", runs[-1], url)
        assert done.returncode == 0, done.stderr
    done = loadtop("compare", "--margin", "20", *runs, "--json", "-", "--text")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each["direction"] for each in found["conclusions"]] == ["no difference", "worse"]
    assert [each["name"] for each in found["settings"]] == ["path"]
    assert "B against A: no difference" in done.stderr
    assert "C is worse than A" in loadtop("compare", "--margin", "20", *runs).stdout


def test_one_run_is_not_enough(tmp_path: Path) -> None:
    done = loadtop("compare", str(tmp_path / "one.loadtop"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
