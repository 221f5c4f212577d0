"""Two processes on one core, local and remote: each has half of it and waits half of the time."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectors.linux.machine import LinuxMachine
from collectors.machine import Transport
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from loadtop.model import HostSample
from loadtop.rates.compute import host_rates
from loadtop.rates.records import ProcessRates
from loadtop.servers import registry
from tests.servers.sshd import Sshd

SPIN = """
import ctypes, os, threading, time
ctypes.CDLL(None).prctl(15, b"httpd", 0, 0, 0)  # PR_SET_NAME: a server by its name, local and remote
os.sched_setaffinity(0, {core})
def spin():
    end = time.monotonic() + 60
    while time.monotonic() < end: pass
print("ready", flush=True)
if {threaded}:
    worker = threading.Thread(target=spin)
    worker.start()
    worker.join()
else:
    spin()
"""

pytestmark = pytest.mark.alone("what a process waits follows from all that runs on its core")


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    """One process of a single thread, and one whose work is done by a thread that is not its first."""
    core = {min(os.sched_getaffinity(0))}
    commands = [[sys.executable, "-c", SPIN.format(core=core, threaded=threaded)] for threaded in (False, True)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes[0].pid, processes[1].pid
    finally:
        for process in processes:
            process.kill()
            process.communicate()


async def shares(transport: Transport, pids: tuple[int, int]) -> list[ProcessRates]:
    """The rates of both over at least 2 s, once both are known."""
    machine = LinuxMachine(transport, KINDS)

    def known(found: HostSample) -> bool:
        waits = {row.pid: row.wait_ns for row in found.processes or ()}
        return all(waits.get(pid) is not None for pid in pids)

    try:
        async with asyncio.timeout(30):
            first = await machine.sample()
            while not known(first):
                await asyncio.sleep(0.1)
                first = await machine.sample()
            last = first
            while last.at < first.at + 2.0 or not known(last):
                await asyncio.sleep(0.5)
                last = await machine.sample()
    finally:
        await machine.close()
    rates = host_rates(first, last, registry.KINDS)
    assert rates is not None
    group = rates.group("httpd")
    assert group is not None
    assert group.wait is not None
    return [each for each in rates.processes or () if each.process.pid in pids]


def check(found: list[ProcessRates]) -> None:
    assert len(found) == 2
    for each in found:
        assert each.cpu is not None
        assert each.wait is not None
        assert each.cpu + each.wait == pytest.approx(100.0, abs=25.0)
        assert each.wait >= 30.0


async def test_local(pair: tuple[int, int]) -> None:
    check(await shares(LocalTransport(), pair))


async def test_remote(pair: tuple[int, int], machine: Sshd) -> None:
    transport = machine.transport()
    await transport.connect()
    check(await shares(transport, pair))
