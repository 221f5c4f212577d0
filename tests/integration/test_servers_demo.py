"""The demo's server serves what it promises, tells the truth about its workers, and goes when it should."""

import asyncio
import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from loadtop.cli.demo.apache import DemoApache, find_apache, service_user
from loadtop.cli.demo.server import DemoServer, demo_plan, start_server
from loadtop.cli.demo.story import CORES, FAST_S, PHASES, WORKERS
from tests.loads.program import loadtop, summary_of, wait_until
from tests.servers.program import Program, answers, find_program, free_port, server_directory

pytestmark = pytest.mark.servers

KINDS = {"apache": "Apache prefork", "embedded": "embedded"}
PARENT = """
import asyncio
from loadtop.cli.demo.server import start_server

async def main():
    target = await start_server()
    print(target.process.pid, target.url, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which server the demo shall use; an installed Apache is required for the first."""
    monkeypatch.setenv("LOADTOP_DEMO_SERVER", str(request.param))
    if request.param == "apache":
        find_program("apache2", "httpd", install="apt-get install apache2")
    return str(request.param)


@pytest.fixture
def temporary(servers: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo puts its directory, so that a test can see whether it is gone."""
    directory = servers.enter_context(server_directory())
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr("tempfile.tempdir", None)
    return directory


@contextlib.asynccontextmanager
async def demo() -> AsyncGenerator[DemoServer]:
    target = await start_server()
    try:
        yield target
    finally:
        await target.process.close()


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        body: bytes = response.read()
        return body.decode()


def modes(directory: Path) -> list[int]:
    """The modes of what is in there."""
    return [entry.stat().st_mode for entry in directory.iterdir()]


def status_of(url: str) -> dict[str, str]:
    text = fetch(f"{url}?auto")
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


async def test_serves_its_pages_and_is_gone_after_close(kind: str, temporary: Path) -> None:
    async with demo() as target:
        assert target.kind == KINDS[kind]
        for page in ("", "light", "wait", "burn"):
            assert "This page" in await asyncio.to_thread(fetch, target.url + page)
        assert modes(temporary) == [0o40700]
    assert not answers(int(target.url.rsplit(":", 1)[1].rstrip("/")))
    assert modes(temporary) == []


async def test_status_counts_its_own_workers(kind: str) -> None:
    async with demo() as target:
        idle = await asyncio.to_thread(status_of, target.status_url)
        waiting = [asyncio.create_task(asyncio.to_thread(fetch, target.url + "wait")) for _ in range(4)]
        seen: list[dict[str, str]] = []
        while not all(page.done() for page in waiting) and all(int(page["BusyWorkers"]) < 5 for page in seen):
            seen.append(await asyncio.to_thread(status_of, target.status_url))
        busy = seen[-1]
        await asyncio.gather(*waiting)
        after = await asyncio.to_thread(status_of, target.status_url)
    assert len(idle["Scoreboard"]) == WORKERS
    assert ("Apache" in idle["ServerVersion"].split("(")[0]) is (kind == "apache")
    assert int(busy["BusyWorkers"]) >= 5, "four waiting pages and the status page itself"
    assert int(busy["BusyWorkers"]) + int(busy["IdleWorkers"]) <= WORKERS
    # Apache counts a request a moment after its response, so the very last ones may be missing on either side.
    assert -3 <= int(after["Total Accesses"]) - int(idle["Total Accesses"]) - 4 - len(seen) <= 2


async def test_its_load_shows_headroom_then_a_full_pool_then_a_full_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    async with demo() as target:
        plan = demo_plan(target)
        light, wait, burn = plan.steps
        assert 50 <= sum(step.duration_s or 0 for step in plan.steps) <= 65
        assert (light.concurrency or 0) < WORKERS < (wait.concurrency or 0)
        assert CORES < (burn.concurrency or 0) < WORKERS
        assert [plan.targets[(step.targets or (9,))[0]].path for step in plan.steps] == ["/light", "/wait", "/burn"]
        assert sum(step.duration_s or 0 for step in demo_plan(target, FAST_S).steps) == pytest.approx(20)
        monkeypatch.setenv("LOADTOP_DEMO_SECONDS", "6")
        assert sum(step.duration_s or 0 for step in demo_plan(target).steps) == pytest.approx(6)


def test_each_phase_has_an_explanation() -> None:
    env = {**os.environ, "LOADTOP_DEMO_SECONDS": "6", "LOADTOP_DEMO_SERVER": "embedded"}
    done = loadtop("demo", "--headless", "--no-record", "--interval", "0.2", "--json", "-", env=env)
    assert done.returncode == 0, done.stderr
    told = [str(phase.told) for phase in PHASES]
    assert [mark["text"] for mark in summary_of(done.stdout)["marks"]] == told
    assert all(f"mark: {text}" in done.stderr for text in told)


async def test_its_own_server_is_a_web_server_in_every_process_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADTOP_DEMO_SERVER", "embedded")
    async with demo() as target:
        leader = psutil.Process(target.process.pid)
        server = [leader, *leader.children(recursive=True)]
        assert len(server) == 1 + CORES
        assert await asyncio.to_thread(wait_until, lambda: {each.name() for each in server} == {"httpd"}, 5.0)


async def test_more_requests_than_workers_wait_in_order(kind: str) -> None:
    del kind
    async with demo() as target:
        began = time.monotonic()
        pages = [asyncio.to_thread(fetch, target.url + "wait") for _ in range(WORKERS + 2)]
        await asyncio.gather(*pages)
    assert time.monotonic() - began > 0.5, "the last two had to wait for a worker"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_however_its_parent_ends(kind: str, temporary: Path, number: signal.Signals) -> None:
    del kind
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        leader, url = parent.stdout.readline().decode().split()
        family = [psutil.Process(int(leader)), *psutil.Process(int(leader)).children(recursive=True)]
        assert len(family) >= 2
        busy = [threading.Thread(target=_try_to_fetch, args=(url + page,)) for page in ("wait", "burn") * 3]
        for thread in busy:
            thread.start()
        parent.send_signal(number)
        assert wait_until(lambda: not any(map(_lives, family)), 20), [p for p in family if _lives(p)]
        assert wait_until(lambda: not any(temporary.iterdir()), 20)
        for thread in busy:
            thread.join()


def _try_to_fetch(url: str) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):
        fetch(url)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_an_apache_that_does_not_start_is_replaced(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "apache2"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("loadtop.cli.demo.apache.SEARCH_PATH", str(tmp_path))
    async with demo() as target:
        assert target.kind == "embedded"
        assert "waits" in await asyncio.to_thread(fetch, target.url + "burn")
    assert modes(temporary) == []


@pytest.mark.parametrize("mpm", ["prefork", "event", "worker"])
def test_any_mpm_and_any_user_will_do(servers: contextlib.ExitStack, mpm: str) -> None:
    installation = find_apache()
    assert installation is not None, "this test needs apache2 or httpd: apt-get install apache2"
    directory = servers.enter_context(server_directory())
    modules = directory / "modules"
    modules.mkdir()
    for module in installation.modules.glob("mod_*.so"):
        if not module.name.startswith("mod_mpm_") or module.name == f"mod_mpm_{mpm}.so":
            (modules / module.name).symlink_to(module)
    user = service_user()
    if user is not None:
        os.chown(directory, user.pw_uid, user.pw_gid)
    apache = DemoApache(replace(installation, modules=modules), directory, free_port(), workers=8)
    assert apache.mpm == mpm
    drop = [] if user is None else ["setpriv", "--reuid", user.pw_name, "--regid", str(user.pw_gid), "--clear-groups"]
    command = apache.command()
    log = directory / "output.log"
    program = servers.enter_context(Program(command, log=log, launcher=drop))
    program.wait_until(lambda: answers(apache.port), directory / "error.log")
    url = f"http://127.0.0.1:{apache.port}/"
    assert status_of(url + "server-status")["ServerMPM"] == mpm
    assert "worker" in fetch(url + "wait")
    members = program.members()
    program.stop()
    assert members
    assert program.members() == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", apache.port)) != 0
