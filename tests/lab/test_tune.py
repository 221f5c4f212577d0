"""`loadtop tune` on a server whose limit is known: what it names, and what it says to set."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.load import watch_load
from tests.lab.memory import memory_group, swap_file
from tests.lab.pages import ALLOCATING, COMPUTING, WAITING
from tests.lab.table import Report, Result
from tests.servers.apache import Apache, ApacheFactory

pytestmark = [
    pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120), pytest.mark.full,
]  # fmt: skip

SWAP_MB, GROUP_MB, ABOVE = 512, 96, 20
NO_TRAFFIC_KB_S, AS_GOOD = 40, 0.95
SWEEP = ("--step-time", "4", "--most-step-time", "8", "--finer", "0", "-t", "36")


def tune(url: str, *options: str, directory: Path) -> tuple[dict[str, Any], str]:
    """The JSON summary and the report of a short sweep, without its line breaks."""
    summary = directory / "tune.json"
    command = [
        sys.executable, "-m", "loadtop", "tune", "--headless", "-q", "--no-record", "--json", str(summary),
        *SWEEP, *options, url,
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, cwd=directory)
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(summary.read_text())
    return figures, done.stdout


def test_names_the_pool_of_php_fpm(apache: ApacheFactory, tmp_path: Path, report: Report) -> None:
    server = apache(mpm="event", php="fpm", workers=50, pages={"page.php": WAITING}, fpm_children=5)
    figures, said = tune(
        f"{server.url}page.php", "--apache", server.status_url, "--fpm", server.fpm_status_url, "-c", "16",
        directory=tmp_path,
    )  # fmt: skip
    sizing: dict[str, Any] = figures["sizing"] or {}
    report(Result("tune: 5 children", "pm.max_children", str(sizing.get("setting")), None))
    assert "[fpm-workers]" in said
    assert 4 <= figures["knee"]["concurrency"] <= 8
    assert (sizing["setting"], sizing["now"], sizing["pool_was_full"]) == ("pm.max_children", 5, True)
    assert f"[{sizing['pool']}]" in said
    assert f"pm.max_children = {sizing['value']}" in said
    assert sizing["value"] > 5


@pytest.mark.parametrize(
    ("name", "page", "content"),
    [("static", "page.html", "x" * 1024), ("computing", "page.php", COMPUTING)],
    ids=["static", "computing"],
)
def test_says_that_more_workers_will_not_help_a_full_processor(
    name: str, page: str, content: str, apache: ApacheFactory, tmp_path: Path, report: Report
) -> None:
    server = apache(mpm="prefork", php="mod", workers=40, pages={page: content})
    figures, said = tune(f"{server.url}{page}", "--apache", server.status_url, "-c", "16", directory=tmp_path)
    steps = {step["concurrency"]: step["bottleneck"] for step in figures["steps"]}
    found = "cpu" if "[cpu]" in said else next(iter(set(steps.values()) - {"none"}), "none")
    report(Result(f"tune: {name} page", "cpu", found, None))
    assert "[cpu]" in said, said
    text = " ".join(said.split())
    gains = "the knee was not reached" in text  # as the generator, and what else runs, get a smaller share of the CPU
    assert f"More workers will not {'help' if gains else 'serve this load faster'}" in text, text


def test_recommends_a_limit_that_memory_holds(apache: ApacheFactory, tmp_path: Path, report: Report) -> None:
    """In the run that follows, with that many workers and more connections, the server does not swap."""

    def serve(workers: int) -> Apache:
        pages = {"page.php": ALLOCATING}
        return apache(mpm="prefork", php="mod", workers=workers, pages=pages, launcher=group.launcher)

    with contextlib.ExitStack() as stack:
        stack.enter_context(swap_file(SWAP_MB))
        group = stack.enter_context(memory_group(GROUP_MB))
        server = serve(ABOVE)
        stack.callback(server.program.stop)
        figures, _ = tune(
            f"{server.url}page.php", "--apache", server.status_url, "-c", str(ABOVE), "-t", "75", "--finer", "2",
            directory=tmp_path,
        )  # fmt: skip
        server.program.stop()
        sizing: dict[str, Any] = figures["sizing"] or {}
        assert sizing["setting"] == "MaxRequestWorkers"
        limited = serve(int(sizing["value"]))
        stack.callback(limited.program.stop)
        before = group.moved_kb()
        run = watch_load(
            f"{limited.url}page.php", ("-c", str(ABOVE), "-t", "10", "--warmup", "2", "--apache", limited.status_url),
            directory=tmp_path, seconds=12,
        )  # fmt: skip
        traffic = (group.moved_kb() - before) / 12
    best = max(step["rps"] for step in figures["steps"])
    rps = run.summary["load"]["rps"]
    report(Result(f"tune: {GROUP_MB} MB, {rps:.1f} of {best:.1f} req/s", "memory", str(sizing["binding"]), None))
    assert sizing["binding"] == "memory"
    assert run.bottleneck != "swap", run.summary["timeline"]
    assert traffic < NO_TRAFFIC_KB_S
    assert rps >= AS_GOOD * best
