"""A machine that is sampled in the background: :class:`HostCollector` is the monitor's source of one host."""

import asyncio
import math
import sys
import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from collectors.background import ended, guarded
from collectors.errors import TransportError
from collectors.linux.devices import with_speed
from collectors.linux.machine import LinuxMachine
from collectors.linux.profile import parse
from collectors.machine import Machine, Transport
from collectors.servers import KINDS, Servers
from collectors.transport.local import LocalTransport
from loadtop.i18n import Message, Text
from loadtop.model import HostSample, Profile

_GRACE_S = 0.05
_TESTED_S = 1.0  # how long the first sample waits until it is known which of several web servers is under test
_STALE_INTERVALS = 2.5
_WORTH_A_SAMPLE_S = 0.05  # five ticks of the processor's clock: a rate over less than that says nothing


class HostCollector:
    """Samples one machine every interval. A slow sample skips the ticks that it overran. Status pages are requested at
    the same moment, and awaited for at most a twentieth of the interval."""

    def __init__(
        self,
        name: str,
        role: str,
        machine: Machine,
        *,
        status_urls: Mapping[str, Sequence[str]] | None = None,
        find_servers: bool = True,
        target_urls: Sequence[str] = (),
        link_mbit: float | None = None,
    ) -> None:
        """``role``: see :class:`loadtop.model.HostState`. ``status_urls`` are status pages given by the user, by kind
        of server; with ``find_servers``, those of other kinds are looked for, first at the server of ``target_urls``,
        which is to be given only where the load's target is this machine. ``link_mbit`` is the link speed of its
        interfaces, whatever the kernel reports."""
        self.name = name
        self.role = role
        self._machine = machine
        self._servers = Servers(machine, status_urls or {}, find=find_servers, target_urls=target_urls)
        self._link_mbit = link_mbit
        self._interval_s = 1.0
        self._task: asyncio.Task[None] | None = None
        self._newest: HostSample | None = None
        self._problem: Message | None = None
        self._since = 0.0
        self._taking = asyncio.Lock()

    async def start(self, interval_s: float) -> None:
        if interval_s <= 0:
            raise ValueError("the interval must be more than 0 s")
        self._interval_s = interval_s
        self._since = _now()
        self._servers.start(interval_s)
        self._task = asyncio.create_task(guarded(self._run, self._fail), name=f"samples of {self.name}")
        await asyncio.sleep(0)  # starts the first sample: a refresh right after this waits for it

    def latest(self) -> tuple[HostSample | None, Text]:
        """The newest sample (the same object until there is a newer one), and the reason if there is none."""
        if self._problem is not None:
            return self._newest, self._problem
        missing_s = _now() - self._since if self._task is not None else 0.0
        if missing_s > max(1.0, _STALE_INTERVALS * self._interval_s):
            return self._newest, Message("no sample for {seconds:.0f} s", seconds=missing_s)
        return self._newest, ""

    async def refresh(self, *, later: bool = False) -> None:
        """Take a sample now, unless the newest is younger than a few ticks of the processor's clock. With ``later`` it
        is taken as soon as those are over: so a load of milliseconds has figures too."""
        async with self._taking:
            age = _now() - self._since
            if self._newest is not None and later:
                await asyncio.sleep(_WORTH_A_SAMPLE_S - age)
            if self._newest is None or later or age >= _WORTH_A_SAMPLE_S:
                await guarded(self._take_one, self._fail)

    async def profile(self, pids: Sequence[int]) -> Profile:
        try:
            return parse(self.name, await self._machine.profile(pids))
        except TransportError as error:
            return Profile(self.name, problem=error.message)

    async def close(self) -> None:
        try:
            task, self._task = self._task, None
            await ended(task)
            await self._servers.close()
        finally:
            await self._machine.close()

    async def _run(self) -> None:
        deadline = _now()
        while True:
            async with self._taking:
                await guarded(self._take_one, self._fail)
            deadline = next_deadline(deadline, _now(), self._interval_s)
            await asyncio.sleep(deadline - _now())

    def _fail(self, error: Message) -> None:
        self._problem = error

    async def _take_one(self) -> None:
        self._servers.ask()
        await asyncio.sleep(0)  # a remote host is asked for the pages together with the sample
        try:
            sample = await self._machine.sample()
            if await self._servers.look(sample, _TESTED_S):
                sample = await self._machine.sample()  # the first counted the processes of all servers
        except TransportError as error:
            self._problem = error.message
            return
        uptime_less_monotonic = sample.at - (time.monotonic() - sample.took_s)
        await self._servers.settle(min(_GRACE_S, self._interval_s / 20))
        sample = replace(self._servers.complete(sample, uptime_less_monotonic), host=self.name)
        if self._link_mbit is not None and sample.networks is not None:
            sample = replace(sample, networks=with_speed(sample.networks, self._link_mbit))
        self._newest = sample
        self._problem = None
        self._since = _now()


def next_deadline(deadline: float, now: float, interval_s: float) -> float:
    """The first tick after ``now`` on the grid that ``deadline`` is on: ticks that were run over are left out."""
    late = max(0.0, now - deadline)
    return deadline + interval_s * (math.floor(late / interval_s) + 1)


def _now() -> float:
    return asyncio.get_running_loop().time()


def local_machine(*, through_psutil: bool = False) -> Machine:
    """This machine: read from /proc where there is one, otherwise (or by choice) through psutil."""
    if sys.platform == "linux" and not through_psutil:
        return LinuxMachine(LocalTransport(), KINDS)
    from collectors.psutil_machine import PsutilMachine

    return PsutilMachine(KINDS)


def remote_machine(transport: Transport) -> Machine:
    return LinuxMachine(transport, KINDS)
