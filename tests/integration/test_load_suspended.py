"""A load stops soon after loadtop was suspended, and continues with it: no one sends requests that no one watches."""

import asyncio
import json
import os
import pty
import signal
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from loadtop.recording.reader import Session
from tests.loads.running import until
from tests.loads.scripted import Scripted, scripted

STOPS_S = 5.0
QUIET_S = 1.0  # without requests for so long, a load has stopped
CONTINUES_S = 30.0


async def last_change(value: Callable[[], int], within_s: float = 10.0) -> float:
    """Return when the value changed last, once it has been the same for :data:`QUIET_S`."""
    end = time.monotonic() + within_s
    before, at = value(), time.monotonic()
    while time.monotonic() - at < QUIET_S:
        assert time.monotonic() < end, "it does not stop"
        await asyncio.sleep(0.02)
        if value() != before:
            before, at = value(), time.monotonic()
    return at


async def suspend(process: asyncio.subprocess.Process, value: Callable[[], int]) -> None:
    """Suspend loadtop and resume it: the value, which its load changes, must stand still in between."""
    await until(lambda: value() > 20, 20)
    process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    assert await last_change(value) - stopped < STOPS_S
    before = value()
    process.send_signal(signal.SIGCONT)
    await until(lambda: value() > before + 20, CONTINUES_S)


def state_of(pid: int) -> str:
    """``T``: stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def marks_of(record: Path) -> list[str]:
    with Session(record) as session:
        return [text for _, text in session.marks()]


async def run_suspended(server: Scripted, *words: str) -> None:
    """Run loadtop to its end, suspended once on the way."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "loadtop", *words, "-q", "--headless", server.url), stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await suspend(process, lambda: len(server.heads))
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()


@pytest.mark.parametrize(
    "words",
    [
        ("-c", "4", "-k", "-t", "4"),
        ("-c", "4", "-t", "4", "--workers", "2"),
        ("--rate", "100", "-t", "4"),
        ("--steps", "2,3", "--step-time", "3"),
    ],
    ids=["closed", "workers", "open", "steps"],
)
async def test_the_built_in_load(tmp_path: Path, words: tuple[str, ...]) -> None:
    record, summary = tmp_path / "run.loadtop", tmp_path / "run.json"
    async with scripted(pause_s=0.005) as server:
        await run_suspended(server, *words, "--record", str(record), "--json", str(summary))
        served = sum(head.startswith(b"GET / ") for head in server.heads)  # without looks for a status page
    figures = json.loads(summary.read_text())
    assert figures["load"]["state"] == "done"
    assert figures["load"]["requests"] == served
    assert figures["load"]["failed"] == 0
    assert marks_of(record)[0].startswith("loadtop was suspended for ")


async def test_the_pause_is_not_part_of_the_time_of_the_load(tmp_path: Path) -> None:
    summary = tmp_path / "run.json"
    async with scripted(pause_s=0.005) as server:
        await run_suspended(server, "-c", "2", "-k", "-t", "4", "--no-record", "--json", str(summary))
    load = json.loads(summary.read_text())["load"]
    assert load["requests"] / load["rps"] == pytest.approx(4.0, abs=0.8)


async def test_a_command_and_its_children(tmp_path: Path) -> None:
    file = tmp_path / "ticks"
    file.touch()
    script = f"(while :; do echo x >> {file}; sleep 0.02; done) & wait"
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "loadtop", "watch", "--headless", "-q", "--no-record", "--", "sh", "-c", script],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        await suspend(process, lambda: os.stat(file).st_size)  # noqa: PTH116 - a number that grows
    finally:
        process.terminate()
        await process.wait()
    assert await last_change(lambda: file.stat().st_size) < time.monotonic()


async def test_ctrl_z_in_the_cockpit(tmp_path: Path) -> None:
    record = tmp_path / "run.loadtop"
    master, slave = pty.openpty()
    loop = asyncio.get_running_loop()
    loop.add_reader(master, os.read, master, 65536)
    command = [sys.executable, "-m", "loadtop", "-c", "2", "-k", "-t", "60", "--record", str(record)]
    async with scripted(pause_s=0.005) as server:
        process = await asyncio.create_subprocess_exec(
            *[*command, server.url], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "LINES": "30", "COLUMNS": "100"},
        )  # fmt: skip
        try:
            await until(lambda: len(server.heads) > 20, 20)
            os.write(master, b"\x1a")
            await until(lambda: state_of(process.pid) == "T", 10)
            stopped = time.monotonic()
            assert termios.tcgetattr(slave)[3] & termios.ICANON, "the shell gets its terminal back"
            assert await last_change(lambda: len(server.heads)) - stopped < STOPS_S
            before = len(server.heads)
            process.send_signal(signal.SIGCONT)
            await until(lambda: len(server.heads) > before + 20, CONTINUES_S)
            assert not termios.tcgetattr(slave)[3] & termios.ICANON
            await until(lambda: len(marks_of(record)) >= 1, 10)
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), 20) == 130
        finally:
            loop.remove_reader(master)
            if process.returncode is None:
                process.kill()
            os.close(slave)
            os.close(master)
    assert marks_of(record)[0].startswith("loadtop was suspended for ")
