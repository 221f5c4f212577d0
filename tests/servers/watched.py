"""A machine watched as a load test watches it, five times a second."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import psutil

from collectors.host import HostCollector, local_machine, remote_machine
from collectors.transport.shell.transport import ShellTransport
from loadtop.model import HostSample, State

INTERVAL_S = 0.2

Watch = Callable[..., Awaitable[HostCollector]]
"""``watch(**options)``: this machine; ``watch(transport, **options)``: the one that it reaches."""


@contextlib.asynccontextmanager
async def watching() -> AsyncGenerator[Watch]:
    """What starts a watch; all of them end with it."""
    async with contextlib.AsyncExitStack() as opened:

        async def start(
            remote: ShellTransport | None = None, role: str = "target+generator", **options: Any
        ) -> HostCollector:
            if remote is not None:
                await remote.connect()
                host = HostCollector("web1", "target", remote_machine(remote), **options)
            else:
                host = HostCollector("local", role, local_machine(), **options)
            opened.push_async_callback(host.close)
            await host.start(INTERVAL_S)
            return host

        yield start


def family(pid: int) -> set[int]:
    """The process and all that descend from it."""
    return {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}


def of(sample: HostSample, group: str) -> set[int]:
    """The processes of a group in a sample."""
    return {row.pid for row in sample.processes or () if row.group == group}


def outcome(sample: HostSample, collector: str) -> tuple[State, str]:
    """Of a collector in a sample, with its reason and what to do about it."""
    found = next(found for found in sample.outcomes if found.collector == collector)
    return found.state, f"{found.reason}\n{found.fix}".rstrip()


async def until(host: HostCollector, holds: Callable[[HostSample], bool], timeout_s: float = 60.0) -> HostSample:
    """The first sample of which something holds."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        sample, _ = host.latest()
        if sample is not None and holds(sample):
            return sample
        await asyncio.sleep(0.02)
    raise AssertionError(f"never held; the newest sample is {host.latest()}")
