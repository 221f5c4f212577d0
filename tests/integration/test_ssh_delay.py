"""A line with 200 ms of delay each way, now more, now less: samples come every second all the same, and their rates are
those of the machine. A relay adds the delay, because a kernel may lack netem (CONFIG_NET_SCH_NETEM)."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import cycle, pairwise
from statistics import median

import pytest

from collectors.host import HostCollector, remote_machine
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import HostSample
from tests.servers.sshd import Sshd

ONE_WAY_S = 0.2
JITTER_S = 0.05
TICKS_S = os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def delayed(port: int) -> AsyncGenerator[int]:
    """A port that leads to another one, where everything arrives later."""
    tasks: set[asyncio.Task[None]] = set()
    opened: list[asyncio.StreamWriter] = []

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Read at once, write later."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        reading = asyncio.create_task(read(source, waiting))
        with suppress(ConnectionError):
            while True:
                due, chunk = await waiting.get()
                await asyncio.sleep(due - time.monotonic())
                if not chunk:
                    break
                sink.write(chunk)
        reading.cancel()
        sink.close()

    async def read(source: asyncio.StreamReader, waiting: "asyncio.Queue[tuple[float, bytes]]") -> None:
        chunk, delays = b"first", cycle((ONE_WAY_S - JITTER_S, ONE_WAY_S + JITTER_S, ONE_WAY_S))
        while chunk:
            try:
                chunk = await source.read(65536)
            except ConnectionError:
                chunk = b""
            waiting.put_nowait((time.monotonic() + next(delays), chunk))

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        opened.extend((writer, far_writer))
        for each in (carry(reader, far_writer), carry(far_reader, writer)):
            tasks.add(asyncio.create_task(each))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.wait(tasks, timeout=2.0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in opened:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def followed(transport: SshTransport, interval_s: float, count: int) -> list[tuple[float, HostSample]]:
    """So many samples, each with the time at which it was there; without the first two, for which more is asked."""
    await transport.connect()
    host = HostCollector("web1", "target", remote_machine(transport), find_servers=False)
    found: list[tuple[float, HostSample]] = []
    await host.start(interval_s)
    async with asyncio.timeout(30):
        while len(found) < count + 2:
            sample, _ = host.latest()
            if sample is not None and (not found or sample is not found[-1][1]):
                found.append((time.monotonic(), sample))
            await asyncio.sleep(0.01)
    await host.close()
    return found[2:]


@pytest.mark.quiet("measures delays")
async def test_samples_come_every_second_and_rates_are_not_bent(machine: Sshd) -> None:
    async with delayed(machine.port) as port:
        known_as = f"HostKeyAlias=[127.0.0.1]:{machine.port}"
        found = await followed(machine.transport("-o", f"Port={port}", "-o", known_as), 1.0, 5)
    # One round trip for a sample: none is shorter than the shortest of them, and not all as long as two of those.
    trip_s = 2 * (ONE_WAY_S - JITTER_S)
    assert trip_s < min(sample.took_s for _, sample in found) < 2 * trip_s
    passed = [later.at - earlier.at for (_, earlier), (_, later) in pairwise(found)]
    assert median(passed) == pytest.approx(1.0, abs=0.25)
    asked = [at - sample.took_s for at, sample in found]
    assert sum(passed) == pytest.approx(asked[-1] - asked[0], abs=1.0)
    # A core has so many ticks a second: had the delay bent the time, each of these would be off by up to a tenth.
    rates = [_ticks(later) - _ticks(earlier) for (_, earlier), (_, later) in pairwise(found)]
    each = [ticks / seconds / TICKS_S for ticks, seconds in zip(rates, passed, strict=True)]
    assert median(each) == pytest.approx(1.0, abs=0.08)
    assert sum(rates) / sum(passed) / TICKS_S == pytest.approx(1.0, abs=0.08)


def _ticks(sample: HostSample) -> float:
    """Of all states together, for each core."""
    assert sample.cpu is not None
    states = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return sum(getattr(sample.cpu.total, state) or 0 for state in states) / len(sample.cpu.cores)


async def test_a_wall_clock_that_is_set_back_changes_nothing(machine: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock but that of the uptime is read there, and none but the monotonic one here."""
    real = time.time
    began = time.monotonic()
    monkeypatch.setattr(time, "time", lambda: real() - (3600.0 if time.monotonic() - began > 1.0 else 0.0))
    found = await followed(machine.transport(), 0.25, 8)
    assert found[-1][0] - began > 1.0
    assert all(0.0 < later.at - earlier.at < 10.0 for (_, earlier), (_, later) in pairwise(found))
