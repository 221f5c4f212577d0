"""Limits of the server's machine: a quota, a line, a disk, memory, swap, a core."""

import contextlib
import subprocess
import tempfile
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from tests.lab.beyond import behind
from tests.lab.case import Bench, Build, Case, Proof, Stand, judge, marked
from tests.lab.memory import memory_group, on_a_disk, swap_file
from tests.lab.namespace import namespace
from tests.lab.pages import ALLOCATING, COMPUTING
from tests.lab.quota import cpu_quota, throttled_periods
from tests.lab.slow_disk import limited_disk, slow_disk
from tests.lab.table import Report
from tests.servers.apache import Mpm, Php

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]

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
    """A file that everyone may read, written by the control group that its pages are to be charged to."""
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


def quota_of_php_fpm(cores: float) -> Build:
    """The same for php-fpm alone, with an Apache before it that may use everything."""

    def build(bench: Bench, lifted: bool) -> Stand:
        launcher = [] if lifted else bench.stack.enter_context(cpu_quota(cores))
        server = bench.apache(
            mpm="event", php="fpm", workers=25, pages={"page.php": COMPUTING}, fpm_children=16, fpm_launcher=launcher
        )
        watch = ("--apache", server.status_url, "--fpm", server.fpm_status_url)
        return Stand(f"{server.url}page.php", watch, sign=partial(throttled_periods, launcher) if launcher else None)

    return build


def disk(operations: int) -> Build:
    """Apache whose page writes to a disk of few operations per second, and waits until it is written."""

    def build(bench: Bench, lifted: bool) -> Stand:
        slow = bench.stack.enter_context(slow_disk(100_000 if lifted else operations))
        page = WRITING.replace("WHERE", str(slow.directory))
        server = bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": page}, launcher=slow.launcher)
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), sign=slow.busy_ms)

    return build


def io_limit(operations: int) -> Build:
    """Apache in a control group that may do few operations per second on the disk of the machine."""

    def build(bench: Bench, lifted: bool) -> Stand:
        limited = bench.stack.enter_context(limited_disk(100_000 if lifted else operations))
        page = WRITING.replace("WHERE", str(limited.directory))
        server = bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": page}, launcher=limited.launcher)
        return Stand(f"{server.url}page.php", ("--apache", server.status_url))

    return build


def line(mbit: int, kilobytes: int, *, told: bool = True) -> Build:
    """A page over a line of few Mbit/s, with the generator at its other end. Where loadtop is not ``told`` how fast the
    line is, it finds the rate of the queueing discipline."""

    def build(bench: Bench, lifted: bool) -> Stand:
        far = bench.stack.enter_context(namespace(None if lifted else mbit))
        url = behind(bench, far, {"page.html": "x" * 1024 * kilobytes})
        return Stand(
            f"{url}page.html", ("--link", str(mbit)) if told else (), far.launcher, lambda: far.sent_bytes() * 8e-6
        )

    return build


def little_memory_and_swap(limit_mb: int, workers: int, *, fpm: bool = False) -> Build:
    """A server with more workers than its control group's memory holds; the rest goes to swap."""

    def build(bench: Bench, lifted: bool) -> Stand:
        bench.stack.enter_context(swap_file(512))
        launcher = bench.stack.enter_context(memory_group(2048 if lifted else limit_mb)).launcher
        if not fpm:
            server = bench.apache(
                mpm="prefork", php="mod", workers=workers, pages={"page.php": ALLOCATING}, launcher=launcher
            )
            return Stand(f"{server.url}page.php", ("--apache", server.status_url))
        server = bench.apache(
            mpm="event", php="fpm", workers=64, pages={"page.php": ALLOCATING}, fpm_children=workers,
            fpm_launcher=launcher,
        )  # fmt: skip
        return Stand(f"{server.url}page.php", ("--apache", server.status_url, "--fpm", server.fpm_status_url))

    return build


def one_core(mpm: Mpm, php: Php, workers: int) -> Build:
    """A server whose processes may all use the first core only."""

    def build(bench: Bench, lifted: bool) -> Stand:
        launcher = [] if lifted else ["taskset", "-c", "0"]
        server = bench.apache(
            mpm=mpm, php=php, workers=workers, pages={"page.php": COMPUTING}, launcher=launcher, fpm_children=workers,
            fpm_launcher=launcher,
        )  # fmt: skip
        return Stand(f"{server.url}page.php", ("--apache", server.status_url))

    return build


def is_throttled(proof: Proof) -> bool:
    return proof.change.idle > 30 and proof.peak > 50


def is_disk_bound(proof: Proof) -> bool:
    return proof.change.user + proof.change.system < 50 and proof.peak - proof.before > 2000


def waits_without_load(proof: Proof) -> bool:
    return proof.change.user + proof.change.system < 50


def fills(mbit: int, proof: Proof) -> bool:
    return proof.change.idle > 40 and proof.peak - proof.before > 0.8 * 2.5 * mbit


def swaps(proof: Proof) -> bool:
    return proof.change.swap_in_kb_s > 1000 and proof.change.swap_out_kb_s > 1000


def swaps_in_the_kernel(proof: Proof) -> bool:
    """No idle time, and far more in the kernel than elsewhere: it looks like computing, and swaps."""
    change = proof.change
    return swaps(proof) and change.idle < 5 and change.system > 2 * max(change.user, change.iowait)


def fills_one_core(proof: Proof) -> bool:
    """Two cores: one is full, and the other at least half idle, beside noise too."""
    return 25 < proof.change.idle < 60


CASES = [
    Case(
        name="half a core", expected="throttled", build=quota(0.5), concurrency=8, proven=is_throttled,
        evidence="cgroup.throttled_pct", advice="Raise the CPU quota of 0.5 cores",
    ),
    Case(
        name="a fifth of a core", expected="throttled", build=quota(0.2), concurrency=4, proven=is_throttled,
        evidence="cgroup.throttled_pct", advice="Raise the CPU quota of 0.2 cores",
    ),
    Case(
        name="half a core for php-fpm", expected="throttled", build=quota_of_php_fpm(0.5), concurrency=8,
        proven=is_throttled, evidence="cgroup.throttled_pct", advice="Raise the CPU quota of 0.5 cores",
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
        name="60 writes a second for the server", expected="disk", build=io_limit(60), concurrency=12,
        proven=waits_without_load, evidence="cgroup.io_pct", advice="of the control group of httpd",
    ),
    Case(
        name="48 MB for 256 MB", expected="memory", build=little_memory(48), concurrency=8, proven=gives_up_too_much,
        evidence="memory.refaults_s", advice="Raise the 48 MB limit",
    ),
    Case(
        name="80 MB for 256 MB", expected="memory", build=little_memory(80), concurrency=6, proven=gives_up_too_much,
        evidence="memory.refaults_s", advice="Raise the 80 MB limit",
    ),
    Case(
        name="20 Mbit/s, 100 kB", expected="network", build=line(20, 100), concurrency=10, proven=partial(fills, 20),
        evidence="network.", advice="of the 20 Mbit/s allowed",
    ),
    Case(
        name="60 Mbit/s, 20 kB", expected="network", build=line(60, 20), concurrency=20, proven=partial(fills, 60),
        evidence="network.", advice="of the 60 Mbit/s allowed",
    ),
    Case(
        name="20 Mbit/s by tbf, 100 kB", expected="network", build=line(20, 100, told=False), concurrency=10,
        proven=partial(fills, 20), evidence="network.", advice="Raise the rate of the queueing discipline",
    ),
    Case(
        name="96 MB for 14 children, event", expected="swap", build=little_memory_and_swap(96, 14, fpm=True),
        concurrency=14, proven=swaps, evidence="swap.",
    ),
    Case(
        name="system time that is swapping", expected="swap", build=little_memory_and_swap(64, 30), concurrency=30,
        proven=swaps_in_the_kernel, evidence="swap.", advice="Lower ",
    ),
    Case(
        name="20 processes on one core", expected="cpu-core", build=one_core("prefork", "mod", 20), concurrency=8,
        proven=fills_one_core, evidence="core0.busy_pct", advice="they share one",
    ),
    Case(
        name="php-fpm and event on one core", expected="cpu-core", build=one_core("event", "fpm", 16), concurrency=6,
        proven=fills_one_core, evidence="core0.busy_pct", advice="they share one",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_resource(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
