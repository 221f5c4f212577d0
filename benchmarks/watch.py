"""What watching costs: on the machine that is watched, beside what people use there, and on the one that watches.

``python -m benchmarks.watch [SECONDS [HOSTS]]``. There: a real sshd and a real Apache prefork with 64 processes that
serve some requests all the while; before that, a load on an Apache with 100 processes that keep 500 connections to
Redis. Here: this machine and HOSTS - 1 more sshds that see processes of their own. Costs are CPU time of all processes
that take part (from /proc/PID/schedstat, in ns, and of those that have ended from the parent's counters), in percent of
one core.
"""

import asyncio
import contextlib
import http.client
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path

from collectors.host import HostCollector, remote_machine
from collectors.transport.ssh.transport import SshTransport
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.redis import RedisFactory
from tests.servers.sshd import Sshd, SshdFactory, put_ssh

PROCESSES = 64
WORKERS, EACH = 100, 5
"""Processes that all wait for the same service, and connections to it of each."""
ASKING = f"""<?php
for ($i = 0; $i < {EACH}; $i++) {{
    $link = stream_socket_client("tcp://127.0.0.1:PORT/$i", flags: STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT);
}}
fwrite($link, "PING\\r\\n");
echo fgets($link);
usleep(50000);
"""
"""PHP keeps persistent connections by their whole name, of which TCP does not use the path."""
FAR_PERCENT = 0.5
WIRE_KB_S = 10.0
HERE_PERCENT = 10.0
SETTLE_S = 12.0
REQUESTS_S = 50.0
OTHERS = (
    ("sar -A 1", ("sar", "-A", "1")),
    ("top -b -d 1", ("top", "-b", "-d", "1")),
    ("glances, its screen off", ("glances", "-q", "-t", "1", "--disable-check-update")),
)
SLEEPERS = 100
"""Processes that do nothing, on each of the machines that are watched together."""
_TICKS = 100.0


def main() -> int:
    """Print what everything costs; 1 where a goal is missed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    hosts = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    asked = _loaded(seconds)
    with contextlib.ExitStack() as servers:
        apache = ApacheFactory(servers, FpmFactory(servers))(mpm="prefork", workers=PROCESSES)
        sshd = SshdFactory(servers)(extra="MaxStartups 100:30:200")
        with _requests(apache):
            far, wire = asyncio.run(_far(sshd, seconds))
            costs = [(name, _tool(command, seconds)) for name, command in OTHERS]
            here = _here(hosts, seconds)
    print(f"{'there: loadtop at 1 s':26} {far:6.2f} % of a core, {wire:.1f} kB/s on the wire")
    print(f"{f'there: {WORKERS * EACH} connections':26} {asked:6.2f} % of a core")
    for name, cost in costs:
        print(f"{f'there: {name}':26} " + (f"{cost:6.2f} % of a core" if cost is not None else "not installed"))
    print(f"{f'here: {hosts} hosts at 1 s':26} {here:6.2f} % of a core")
    met = max(far, asked) <= FAR_PERCENT and wire <= WIRE_KB_S and here <= HERE_PERCENT * hosts / 20
    goals = f"{FAR_PERCENT} % and {WIRE_KB_S:.0f} kB/s there, {HERE_PERCENT:.0f} % here for 20 hosts"
    print(f"at most {goals}: {'yes' if met else 'NO'}")
    return 0 if met else 1


async def _far(sshd: Sshd, seconds: float) -> tuple[float, float]:
    """Percent of a core there, all of the connection's sshd included; kB/s both ways."""
    host = await _watch(sshd)
    await asyncio.sleep(SETTLE_S)
    sample, _ = host.latest()
    count = sum(row.group == "httpd" for row in (sample.processes if sample else None) or ())
    if count < PROCESSES:
        raise SystemExit(f"only {count} processes of Apache are seen there")
    ours = processes_below(sshd.pid)
    cost, wire, began = cpu_seconds(ours), wire_bytes(sshd.port), time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - began
    percent = 100.0 * (cpu_seconds(processes_below(sshd.pid)) - cost) / passed
    kilobytes = (wire_bytes(sshd.port) - wire) / passed / 1024.0
    await host.close()
    return percent, kilobytes


def _loaded(seconds: float) -> float:
    """Percent of a core there, for a whole ``loadtop`` whose load an Apache with many connections answers."""
    with contextlib.ExitStack() as servers:
        redis = RedisFactory(servers)(maxclients=2 * WORKERS * EACH)
        pages = {"page.php": ASKING.replace("PORT", str(redis.port))}
        apache = ApacheFactory(servers, FpmFactory(servers))(mpm="prefork", php="mod", workers=WORKERS, pages=pages)
        sshd = SshdFactory(servers)()
        command = [sys.executable, "-m", "loadtop", "--headless", "-q", "--no-record", f"{apache.url}page.php"]
        subprocess.run([*command, "-c", str(WORKERS), "-n", str(4 * WORKERS)], check=True, stdout=subprocess.DEVNULL)
        load = ["--rate", str(REQUESTS_S), "-t", str(2 * SETTLE_S + seconds), "--host", f"web=ssh://{sshd.alias}"]
        program = subprocess.Popen(
            [*command, *load], env=put_ssh(sshd.directory, sshd.config), stdout=subprocess.DEVNULL
        )
        servers.callback(program.wait, 30)
        servers.callback(program.terminate)
        time.sleep(SETTLE_S)
        listed = subprocess.run(["ss", "-tnH", f"dport = :{redis.port}"], capture_output=True, check=True).stdout
        connections = len(listed.splitlines())
        if connections < WORKERS * EACH:
            raise SystemExit(f"only {connections} connections to Redis")
        cost, began = cpu_seconds(processes_below(sshd.pid)), time.monotonic()
        time.sleep(seconds)
        spent, passed = cpu_seconds(processes_below(sshd.pid)) - cost, time.monotonic() - began
        if program.poll() is not None:
            raise SystemExit("the load ended early")
    return 100.0 * spent / passed


def _here(hosts: int, seconds: float) -> float:
    """Percent of a core for a whole ``loadtop watch`` that looks for servers, diagnoses and records, clients too."""
    with contextlib.ExitStack() as servers:
        directory = Path(servers.enter_context(tempfile.TemporaryDirectory()))
        names = [f"h{number}" for number in range(hosts)]
        factory, alone = SshdFactory(servers), _machine(directory)
        machines = [factory(alias=name, launcher=alone if number else ()) for number, name in enumerate(names)]
        for machine in machines:
            servers.callback(machine.kill)  # unshare does not heed SIGTERM
        (directory / "ssh_config").write_text("".join(machine.config.read_text() for machine in machines))
        environment = put_ssh(directory, directory / "ssh_config")
        wanted = [word for name in names for word in ("--host", f"{name}=ssh://{name}")]
        command = [sys.executable, "-m", "loadtop", "watch", "--headless", "-q", "--record", f"{directory}/r.loadtop"]
        with (directory / "output").open("w") as output:
            program = subprocess.Popen(
                [*command, "-t", str(round(2 * SETTLE_S + seconds)), *wanted],
                env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip
        servers.callback(program.wait, 30)
        servers.callback(program.terminate)
        time.sleep(SETTLE_S)
        ours = [program.pid, *processes_below(program.pid)]
        cost, began = cpu_seconds(ours), time.monotonic()
        time.sleep(seconds)
        spent, passed = cpu_seconds(ours) - cost, time.monotonic() - began
        if program.poll() is not None or len(ours) <= hosts:
            raise SystemExit(f"not all {hosts} hosts could be watched: {(directory / 'output').read_text()[-300:]}")
    return 100.0 * spent / passed


def _machine(directory: Path) -> list[str]:
    """What makes a process see only its own, and some that sleep: a machine of its own, as far as /proc goes. Nothing
    where that is not permitted: then every host is this machine, and sees what watching the others takes here."""
    if os.geteuid():
        return []
    script = directory / "machine"
    _script(script, f'i=0; while [ $i -lt {SLEEPERS} ]; do sleep 3600 & i=$((i+1)); done; exec "$@"')
    return ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", str(script)]


def _script(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


async def _watch(sshd: Sshd) -> HostCollector:
    transport = SshTransport(f"ssh://{sshd.alias}", ssh=("ssh", "-F", str(sshd.config)))
    await transport.connect()
    host = HostCollector("web1", "target", remote_machine(transport), find_servers=False)
    await host.start(1.0)
    return host


def _tool(command: tuple[str, ...], seconds: float) -> float | None:
    """Percent of a core for a tool and all that it starts; ``None`` where it is not installed."""
    if shutil.which(command[0]) is None:
        return None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(3.0)
        family = [process.pid, *processes_below(process.pid)]
        cost, began = cpu_seconds(family), time.monotonic()
        time.sleep(seconds)
        return 100.0 * (cpu_seconds(family) - cost) / (time.monotonic() - began) if process.poll() is None else None
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def _requests(apache: Apache) -> Generator[None]:
    """Some requests a second, each on a connection of its own."""
    end = threading.Event()

    def ask() -> None:
        while not end.wait(1.0 / REQUESTS_S):
            connection = http.client.HTTPConnection("127.0.0.1", apache.port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/")
                connection.getresponse().read()
            connection.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def processes_below(pid: int) -> list[int]:
    """All processes below one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def cpu_seconds(pids: Iterable[int]) -> float:
    """Seconds of CPU time that processes and their ended children took."""
    spent = 0.0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                spent += int((task / "schedstat").read_text().split()[0]) / 1e9
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            spent += (int(fields[13]) + int(fields[14])) / _TICKS
    return spent


def wire_bytes(port: int) -> int:
    """Bytes sent and received by the connections of a port, as the kernel counts them."""
    command = ["ss", "-tinH", f"sport = :{port}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sum(int(count) for count in re.findall(r"bytes_(?:sent|received):(\d+)", printed))


if __name__ == "__main__":
    raise SystemExit(main())
