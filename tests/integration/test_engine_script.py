"""The script under which another engine's process runs, here or far away: it lives as long as it hears of loadtop."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadtop.engines.engine import read_resource
from loadtop.pipeline.heartbeat import PERIOD_S
from tests.loads.engines import files_left
from tests.loads.processes import mark_environment, marked
from tests.loads.program import wait_until

TOOL = """
need() { :; }
tool() {
    (while :; do echo x >> "$1"; sleep 0.02; done) &
    wait
}
clean_up() { :; }
quit() { :; }
"""
RUN = """
import asyncio, os, sys
from loadtop.engines.engine import LOCAL, EngineProcess

class Tool(EngineProcess):
    engine, script, install = "tool", sys.argv[1], {}

async def main():
    tool = Tool(LOCAL, (sys.argv[2],))
    await tool.start({})
    while tool.directory is None:
        await asyncio.sleep(0.01)
    print(tool.pid, flush=True)
    await tool.wait()

asyncio.run(main())
"""
PAUSES_S = 10.0  # the script counts whole seconds of silence, and ends after 15


class Script:
    """The script with a tool that makes a file longer, through a shell of its own."""

    def __init__(self, ticks: Path) -> None:
        self._ticks = ticks
        command = ["sh", "-c", TOOL + read_resource("run_process.sh"), "loadtop", str(ticks)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True
        )
        self.hear(". 0")

    @property
    def size(self) -> int:
        return self._ticks.stat().st_size if self._ticks.exists() else 0

    def hear(self, line: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def grows_while_it_hears(self) -> bool:
        before = self.size

        def grown() -> bool:
            self.hear()
            time.sleep(PERIOD_S)
            return self.size > before + 10

        return wait_until(grown)

    def stands_still(self) -> bool:
        """Whether the file stops growing in time, without heartbeats."""
        end, before, changed = time.monotonic() + PAUSES_S, -1, time.monotonic()
        while changed < end and time.monotonic() < changed + 1.5:
            if self.size != before:
                before, changed = self.size, time.monotonic()
            time.sleep(0.02)
        return changed < end

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


@contextmanager
def running(ticks: Path) -> Generator[Script]:
    script = Script(ticks)
    try:
        yield script
    finally:
        script.process.kill()
        script.process.wait(10)


def test_its_tool_pauses_in_silence_and_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = mark_environment(monkeypatch)
    with running(tmp_path / "ticks") as script:
        assert script.grows_while_it_hears()
        assert script.stands_still()
        assert script.grows_while_it_hears()
        assert script.stands_still()
        script.close()
        assert wait_until(lambda: not marked(mark)), "a paused tool ends too"
    assert not files_left()


def test_nothing_stays_when_the_script_is_killed_together_with_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = mark_environment(monkeypatch)
    (tmp_path / "tool.sh").write_text(TOOL)
    command = [sys.executable, "-c", RUN, str(tmp_path / "tool.sh"), str(tmp_path / "ticks")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        script = int(run.stdout.readline())
        assert files_left()
        run.kill()
        os.kill(script, signal.SIGKILL)
    assert wait_until(lambda: not marked(mark))
    assert wait_until(lambda: not files_left())
