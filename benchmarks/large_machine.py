"""What a large machine costs: 256 cores, 5,000 processes, 100 disks, 200 mounts and 50 interfaces, near and far.

``python -m benchmarks.large_machine [SECONDS]`` makes a ``/proc`` and ``/sys`` of that size, in which a few hundred
processes work and every counter grows once a second, and watches it at 1 s in the cockpit: as this machine, and (as
root on Linux) over a real sshd that sees it as its own. CPU time is that of the whole program, its screen and its
ssh, in percent of one core; there, of all that belongs to the connection.
"""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.cockpit import environment
from benchmarks.terminal import Terminal
from benchmarks.watch import cpu_seconds, processes_below, wire_bytes
from collectors.host import HostCollector
from collectors.linux.machine import LinuxMachine
from collectors.machine import Transport
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.ssh.transport import SshTransport
from loadtop.pipeline.monitor import Monitor
from tests.servers.sshd import SshdFactory

CORES, PROCESSES, DISKS, MOUNTS, INTERFACES = 256, 5000, 100, 200, 50
SERVERS, BUSY = 400, 300
"""Processes of a web server, and those of all that work in each second."""

SETTLE_S = 8.0
SIZE = (120, 40)
KEYS = "\t\t\t\tzzzz" * 5
PERCENT, KEY_MS = 10.0, 50.0
_MINUTE_TICKS = 6000


class MadeTree:
    """The files of the machine below a directory, as its kernel would print them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._draw = random.Random(1)  # noqa: S311 - generated load, no secret
        self._second = 0

    def make(self) -> None:
        """Everything that does not change, and the first second."""
        for core in range(DISKS):
            self._write(f"sys/block/sd{core}", "")
        for interface in range(INTERFACES):
            self._write(f"sys/class/net/eth{interface}/speed", "25000\n")
        lines = [f"{n} 1 8:{n} / /mnt/{n} rw shared:{n} - ext4 /dev/sd{n} rw\n" for n in range(MOUNTS - 1)]
        self._write("proc/self/mountinfo", "".join(lines) + "999 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        self._write("proc/self/stat", "1 (sh) S 0 1 1 0\n")
        self._write("proc/swaps", "Filename Type Size Used Priority\n")
        self._write("proc/meminfo", "MemTotal: 1056243712 kB\nMemFree: 512000000 kB\nMemAvailable: 800000000 kB\n"
                    "SwapTotal: 0 kB\nSwapFree: 0 kB\n")  # fmt: skip
        for resource in ("cpu", "memory", "io"):
            self._write(f"proc/pressure/{resource}", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n")
        self._write("proc/sys/kernel/hostname", "large\n")
        self._write("proc/sys/kernel/osrelease", "6.12.0\n")
        for pid in range(1, PROCESSES + 1):
            self._write(f"proc/{pid}/stat", self._process(pid, 100))
            if pid <= SERVERS:
                self._write(f"proc/{pid}/cgroup", "0::/system.slice/apache2.service\n")
                self._write(f"proc/{pid}/smaps_rollup", "Rss: 20480 kB\nPss: 5120 kB\n")
        self.tick()

    def tick(self) -> None:
        """The next second."""
        self._second += 1
        second, draw = self._second, self._draw
        ticks = [_MINUTE_TICKS + 100 * second + draw.randrange(100) for _ in range(CORES)]
        rows = [f"{busy // 3} 0 {busy // 5} {busy} 9 0 7 0 0 0" for busy in ticks]
        cores = "".join(f"cpu{number} {row}\n" for number, row in enumerate(rows))
        whole = f"cpu  {sum(ticks) // 3} 0 {sum(ticks) // 5} {sum(ticks)} 900 0 700 0 0 0\n"
        interrupts = " ".join(str(draw.randrange(10**9)) for _ in range(4000))
        self._write("proc/stat", f"{whole}{cores}intr {interrupts}\nctxt {90_000 * second}\nprocs_running 40\n")
        counters = " ".join(["{0}"] * 8) + " 2 {0} {0}"
        disks = (f"8 {n} sd{n} {counters.format(1000 * second + n)}\n" for n in range(DISKS))
        self._write("proc/diskstats", "".join(disks))
        row = f"{10**6 * second} 900 0 0 0 0 0 0 {10**7 * second} 900 0 0 0 0 0 0\n"
        interfaces = "".join(f"eth{number}: {row}" for number in range(INTERFACES))
        self._write("proc/net/dev", f"Inter-| Receive | Transmit\n face | bytes | bytes\n{interfaces}")
        tcp = f"Tcp: RetransSegs OutSegs CurrEstab\nTcp: {second} {9000 * second} 4000\n"
        self._write("proc/net/snmp", tcp)
        self._write("proc/net/netstat", f"TcpExt: ListenOverflows ListenDrops\nTcpExt: 0 {second}\n")
        self._write("proc/net/sockstat", "TCP: inuse 4000 orphan 0 tw 900 alloc 4100 mem 90\n")
        self._write("proc/vmstat", f"pswpin 0\npswpout 0\npgmajfault {second}\n")
        self._write("proc/loadavg", f"{draw.uniform(30, 50):.2f} 40.00 40.00 40/9000 4711\n")
        self._write("proc/uptime", f"{time.clock_gettime(time.CLOCK_BOOTTIME):.2f} 1.00\n")
        for pid in draw.sample(range(1, PROCESSES + 1), BUSY):
            self._write(f"proc/{pid}/stat", self._process(pid, 100 + second))

    def _process(self, pid: int, ticks: int) -> str:
        server = pid <= SERVERS
        name, parent = ("apache2", 0 if pid == 1 else 1) if server else (f"worker/{pid}:1", 2)
        times = f"{ticks} {ticks} 0 0 20 0 1 0 {pid}"
        return f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 9 9 9 9 {times} 99 5000 184 0 0 0\n"

    def _write(self, name: str, text: str) -> None:
        """At once: no one reads half a file of the kernel."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = self._root / "new"
        new.write_text(text)
        new.replace(path)


class Costs(Struct, frozen=True):
    """Percent of a core here, bytes/s to the terminal, memory, and milliseconds from a key to the screen."""

    percent: float
    sent: float
    megabytes: float
    keys_ms: Sequence[float]


def main() -> int:
    """Print what both cost; 1 where a goal is missed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print(f"{CORES} cores, {PROCESSES} processes, {DISKS} disks, {MOUNTS} mounts, {INTERFACES} interfaces, at 1 s:")
    with contextlib.ExitStack() as opened:
        root = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="loadtop-large-")))
        MadeTree(root).make()
        ticking = subprocess.Popen([sys.executable, "-m", "benchmarks.large_machine", "--tick", str(root)])
        opened.callback(ticking.wait)
        opened.callback(ticking.terminate)
        missed = _said("this machine", _measured(["near", str(root)], seconds))
        if os.geteuid() == 0 and shutil.which("unshare"):
            missed |= _far(opened, root, seconds)
        else:
            print("far away: not measured, that needs root on Linux")
    return 1 if missed else 0


def _far(opened: contextlib.ExitStack, root: Path, seconds: float) -> bool:
    mounts = f'mount --bind {root}/proc /proc && mount --bind {root}/sys /sys && exec "$@"'
    server = SshdFactory(opened)(launcher=["unshare", "-m", "sh", "-c", mounts, "enter"])
    there: list[tuple[float, int, float]] = []

    def note() -> None:
        there.append((cpu_seconds(processes_below(server.pid)), wire_bytes(server.port), time.monotonic()))

    missed = _said("far away", _measured(["far", str(server.config)], seconds, note))
    (cost_before, wire_before, began), (cost_after, wire_after, ended) = there
    percent = 100.0 * (cost_after - cost_before) / (ended - began)
    print(f"{'there':14} {percent:6.2f} % of a core, {(wire_after - wire_before) / (ended - began) / 1024:.1f} kB/s")
    return missed


def _measured(words: Sequence[str], seconds: float, note: Callable[[], None] = lambda: None) -> Costs:
    command = (sys.executable, "-m", "benchmarks.large_machine", "--show", *words)
    terminal = Terminal(command, *SIZE, environment())
    try:
        terminal.measure(SETTLE_S)
        family = [terminal.pid, *processes_below(terminal.pid)]
        note()
        before = cpu_seconds(family)
        spent = terminal.measure(seconds)
        took_s = cpu_seconds(family) - before
        note()
        keys = sorted(1000 * terminal.answer_s(key, quiet_s=0.02) for key in KEYS)
    finally:
        terminal.close()
    return Costs(100 * took_s / spent.seconds, spent.sent / spent.seconds, spent.rss_kb / 1024, keys)


def _said(where: str, costs: Costs) -> bool:
    """Print them; whether a goal is missed."""
    most = costs.keys_ms[round(0.95 * (len(costs.keys_ms) - 1))]
    print(
        f"{where:14} {costs.percent:6.2f} % of a core, {costs.sent:.0f} bytes/s to the screen,"
        f" {costs.megabytes:.0f} MB; 95 % of {len(costs.keys_ms)} keys within {most:.0f} ms",
        flush=True,
    )
    return costs.percent > PERCENT or most > KEY_MS


def tick(root: Path) -> None:
    """Let the machine go on, a second at a time, until this is ended."""
    tree = MadeTree(root)
    while True:
        tree.tick()
        time.sleep(1.0)


async def show(kind: str, place: str) -> None:
    """The program that is measured."""
    from tui.apps.cockpit import Cockpit, run_cockpit

    transport: Transport = LocalTransport(root=place)
    if kind == "far":
        far = SshTransport("ssh://web1", ssh=("ssh", "-F", place))
        await far.connect()
        transport = far
    host = HostCollector("large", "target", LinuxMachine(transport, KINDS), find_servers=False)
    await run_cockpit(Cockpit(Monitor("a large machine", None, [host])))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--tick", root]:
            tick(Path(root))
        case ["--show", kind, place]:
            asyncio.run(show(kind, place))
        case _:
            sys.exit(main())
