"""Limits of the machine and of the generator: a quota, a line, a disk, ports, descriptors."""

import contextlib
import subprocess
import tempfile
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from tests.lab.case import RUN_S, Bench, Build, Case, Proof, Stand, judge, marked
from tests.lab.memory import memory_group, on_a_disk
from tests.lab.namespace import Namespace, namespace
from tests.lab.pages import COMPUTING, WAITING
from tests.lab.quota import cpu_quota, throttled_periods
from tests.lab.slow_disk import slow_disk
from tests.lab.table import Report
from tests.servers.program import free_port

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]

PORTS = 120
WRITING = """<?php
$file = fopen('WHERE/' . getmypid(), 'c');
fwrite($file, str_repeat(chr(random_int(65, 90)), 4096));
fflush($file);
fsync($file);
echo 'written';
"""


READING = """<?php
$file = fopen('WHERE', 'r');
for ($i = 0; $i < 16; $i++) {
    fseek($file, random_int(0, SIZE) << 16);
    strlen(fread($file, 65536));
}
echo 'read';
"""
FILE_MB = 256


@contextlib.contextmanager
def charged_file(size_mb: int, launcher: list[str]) -> Generator[Path]:
    """A file that everybody may read, written by the control group that its pages are to be charged to."""
    with tempfile.NamedTemporaryFile(prefix="loadtop-lab-", dir=on_a_disk()) as file:
        write = ["dd", "if=/dev/zero", f"of={file.name}", "bs=1M", f"count={size_mb}", "conv=notrunc,fsync"]
        subprocess.run([*launcher, *write], check=True, capture_output=True)
        Path(file.name).chmod(0o644)
        yield Path(file.name)


def little_memory(limit_mb: int) -> Build:
    """Apache whose page reads here and there in a file that its control group's memory cannot hold; no swap."""

    def build(bench: Bench, lifted: bool) -> Stand:
        group = bench.stack.enter_context(memory_group(4 * FILE_MB if lifted else limit_mb))
        file = bench.stack.enter_context(charged_file(FILE_MB, group.launcher))
        page = READING.replace("WHERE", str(file)).replace("SIZE", str(16 * FILE_MB - 1))
        server = bench.apache(mpm="prefork", php="mod", workers=12, pages={"page.php": page}, launcher=group.launcher)
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), sign=refaults)

    return build


def refaults() -> float:
    """Pages that were wanted again soon after they were given up, since boot."""
    figures = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return float(figures["workingset_refault_file"])


def gives_up_too_much(proof: Proof) -> bool:
    return proof.peak - proof.before > 10_000 and proof.change.swap_in_kb_s < 40


def quota(cores: float) -> Build:
    """Apache in a control group that may use a part of a processor."""

    def build(bench: Bench, lifted: bool) -> Stand:
        launcher = [] if lifted else bench.stack.enter_context(cpu_quota(cores))
        server = bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": COMPUTING}, launcher=launcher)
        sign = partial(throttled_periods, launcher) if launcher else None
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), sign=sign)

    return build


def disk(operations: int) -> Build:
    """Apache whose page writes to a disk of few operations per second, and waits until it is written."""

    def build(bench: Bench, lifted: bool) -> Stand:
        slow = bench.stack.enter_context(slow_disk(100_000 if lifted else operations))
        page = WRITING.replace("WHERE", str(slow.directory))
        server = bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": page}, launcher=slow.launcher)
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), sign=slow.busy_ms)

    return build


def line(mbit: int, kilobytes: int) -> Build:
    """A page over a line of few Mbit/s, with the generator at its other end."""

    def build(bench: Bench, lifted: bool) -> Stand:
        far = bench.stack.enter_context(namespace(None if lifted else mbit))
        url = behind(bench, far, {"page.html": "x" * 1024 * kilobytes})
        return Stand(f"{url}page.html", ("--link", str(mbit)), far.launcher, lambda: far.sent_bytes() * 8e-6)

    return build


def behind(bench: Bench, far: Namespace, pages: dict[str, str], *, keepalive_s: int = 5) -> str:
    """An Apache that a namespace's line leads to; its address from there."""
    port = free_port()
    bench.apache(
        mpm="prefork", php="mod", workers=200, pages=pages, keepalive_s=keepalive_s,
        extra=f"Listen {far.address}:{port}",
    )  # fmt: skip
    return f"http://{far.address}:{port}/"


def few_ports(ports: int) -> Build:
    """A generator with few local ports for its connections."""

    def build(bench: Bench, lifted: bool) -> Stand:
        far = bench.stack.enter_context(namespace())
        if not lifted:
            far.setting("net.ipv4.ip_local_port_range", f"40000 {40000 + ports - 1}")
        url = behind(bench, far, {"page.php": WAITING})
        return Stand(f"{url}page.php", launcher=far.launcher)

    return build


def few_files(files: int) -> Build:
    """A generator that may open few files."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.apache(mpm="prefork", php="mod", workers=120, pages={"page.php": WAITING})
        launcher = () if lifted else ("prlimit", f"--nofile={files}:{files}")
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), launcher)

    return build


def is_throttled(proof: Proof) -> bool:
    return proof.change.idle > 30 and proof.peak > 50


def is_disk_bound(proof: Proof) -> bool:
    return proof.change.user + proof.change.system < 50 and proof.peak - proof.before > 2000


def fills(mbit: int, proof: Proof) -> bool:
    return proof.change.idle > 40 and proof.peak - proof.before > 0.8 * 2.5 * mbit


def is_short(proof: Proof) -> bool:
    return proof.rps == 0  # ab, with as few of them, gives up


CASES = [
    Case(
        name="half a core", expected="throttled", build=quota(0.5), concurrency=8, proven=is_throttled,
        evidence="cgroup.throttled_pct", advice="at a quota of 0.5 cores",
    ),
    Case(
        name="a fifth of a core", expected="throttled", build=quota(0.2), concurrency=4, proven=is_throttled,
        evidence="cgroup.throttled_pct", advice="at a quota of 0.2 cores",
    ),
    Case(
        name="150 writes a second", expected="disk", build=disk(150), concurrency=8, proven=is_disk_bound,
        evidence="blocked", advice="wait for the disk",
    ),
    Case(
        name="60 writes a second", expected="disk", build=disk(60), concurrency=12, proven=is_disk_bound,
        evidence="blocked", advice="wait for the disk",
    ),
    Case(
        name="48 MB for 256 MB", expected="memory", build=little_memory(48), concurrency=8, proven=gives_up_too_much,
        evidence="memory.refaults_s", advice="may use 48 MB",
    ),
    Case(
        name="80 MB for 256 MB", expected="memory", build=little_memory(80), concurrency=6, proven=gives_up_too_much,
        evidence="memory.refaults_s", advice="may use 80 MB",
    ),
    Case(
        name="20 Mbit/s, 100 kB", expected="network", build=line(20, 100), concurrency=10, proven=partial(fills, 20),
        evidence="network.", advice="of 20 Mbit/s",
    ),
    Case(
        name="60 Mbit/s, 20 kB", expected="network", build=line(60, 20), concurrency=20, proven=partial(fills, 60),
        evidence="network.", advice="of 60 Mbit/s",
    ),
    Case(
        name="160 connections, 120 ports", expected="client-ports", build=few_ports(PORTS), concurrency=160,
        proven=is_short, evidence="generator.ports_pct", advice="local ports",
        options=("-k", "-c", "160", "-t", str(RUN_S)), codes=(0, 3), at_once=True,
    ),
    Case(
        name="60 connections, 64 files", expected="client-files", build=few_files(64), concurrency=100,
        proven=is_short, evidence="generator.connections", advice="ulimit -n", codes=(0, 3), at_once=True,
    ),
    Case(
        name="open load, 56 files", expected="client-files", build=few_files(56), concurrency=100, proven=is_short,
        evidence="generator.connections", advice="ulimit -n", options=("--rate", "300", "-t", str(RUN_S)),
        codes=(0, 3), at_once=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_resource(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
