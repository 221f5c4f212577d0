"""Processes of this machine that mean harm: the program continues, and can be ended."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec import Struct, field

from collectors.config_files import view_of
from collectors.linux.machine import LinuxMachine
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from tests.servers.program import Program, find_program, server_directory

EVERYTHING = "Include {directory}/pipe\nInclude /*/*/*/*/*\nInclude /dev/zero\nInclude {directory}/*.conf\n"


class CalledApache(Struct):
    """Processes that only have the name, with a configuration of their own: twelve files that include each other, a
    pipe, a device, and everything else."""

    directory: Path
    started: list[Program] = field(default_factory=list[Program])

    @property
    def pipe(self) -> Path:
        return self.directory / "pipe"

    def start(self, *launcher: str) -> int:
        """Returns its process."""
        words = [str(self.directory / "apache2"), "-c", "while :; do sleep 1; done", "-f", f"{self.directory}/0.conf"]
        program = Program(words, log=self.directory / "log", launcher=launcher)
        self.started.append(program)
        program.wait_until(lambda: Path(f"/proc/{program.pid}/comm").read_text() == "apache2\n")
        return program.pid


@pytest.fixture
def called_apache() -> Iterator[CalledApache]:
    with server_directory() as directory:
        os.mkfifo(directory / "pipe")
        for number in range(12):
            text = EVERYTHING.format(directory=directory) + f"Listen {9000 + number}\n" * 1000
            (directory / f"{number}.conf").write_text(text)
        shutil.copy(find_program("dash", "bash", install="apt-get install dash"), directory / "apache2")
        made = CalledApache(directory)
        yield made
        for program in made.started:
            program.kill()


class Waiting:
    """Waits for someone to open a pipe."""

    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe
        self.opened = threading.Event()
        self._thread = threading.Thread(target=self._open, daemon=True)
        self._thread.start()

    def _open(self) -> None:
        with self._pipe.open("wb"):
            self.opened.set()

    def close(self) -> None:
        """Let it go."""
        with self._pipe.open("rb"):
            self._thread.join(10.0)


def loadtop(*words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "loadtop", "watch", "--headless", "--no-record", *words]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_configuration_made_to_cost(called_apache: CalledApache) -> None:
    called_apache.start()
    pipe = Waiting(called_apache.pipe)
    began = time.monotonic()
    program = loadtop("-t", "3")
    process = psutil.Process(program.pid)
    most = 0
    while program.poll() is None and time.monotonic() < began + 60.0:
        most = max(most, process.memory_info().rss if process.is_running() else 0)
        time.sleep(0.02)
    _, said = program.communicate(timeout=30)
    assert program.returncode == 0, said
    assert "Traceback" not in said
    assert not pipe.opened.is_set()
    assert most < 250 << 20
    pipe.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_can_be_ended_all_the_while(called_apache: CalledApache, number: signal.Signals) -> None:
    called_apache.start()
    program = loadtop("-t", "60")
    assert program.stderr is not None
    for _ in range(3):
        assert program.stderr.readline(), "intervals are shown, so servers are looked for"
    began = time.monotonic()
    program.send_signal(number)
    program.communicate(timeout=30)
    assert time.monotonic() - began < 20.0
    assert program.returncode == 130


async def test_whose_configuration_is_read(called_apache: CalledApache) -> None:
    """One's own; where root watches, that of no other user."""
    machine = LinuxMachine(LocalTransport(), KINDS)
    try:
        mine = await view_of(machine, called_apache.start())
        assert not mine.foreign
        assert mine.command[-2:-1] == ("-f",)
        if os.geteuid() == 0:
            setpriv = find_program("setpriv", install="apt-get install util-linux")
            other = await view_of(machine, called_apache.start(setpriv, "--reuid", "65534", "--clear-groups"))
            assert other.foreign
            assert other.command == ()
    finally:
        await machine.close()
