"""What looks like a limit and is none, or looks like another one."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from tests.lab.case import PROOF_S, RUN_S, Bench, Build, Case, Proof, Stand, judge, marked
from tests.lab.memory import memory_group, swap_file
from tests.lab.pages import COMPUTING, SHORTLY, WAITING
from tests.lab.slow_disk import slow_disk
from tests.lab.table import Report
from tests.servers.service import BURNING

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]

SWAP_MB, HOARD_MB, LITTLE_MB = 256, 120, 24
TWO_SECONDS = "<?php sleep(2); echo 'slept';"
BURN = "while True: pass"
BURN_BRIEFLY = "import subprocess\nwhile True: subprocess.run(['awk', 'BEGIN { while (i < 1e6) i++ }'])"
HOARD = f"""
hoard = bytearray({HOARD_MB} << 20)
for at in range(0, len(hoard), 4096):
    hoard[at] = 1
print("full", flush=True)
input()
"""
WRITERS, WRITES_A_SECOND, BUSY = 6, 60, 0.8
SYNC = f"""
WARM_UP = {WRITES_A_SECOND // WRITERS}
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.unlink(sys.argv[1])
for number in range(1 << 40):
    os.pwrite(file, os.urandom(4096), 0)
    os.fsync(file)
    if number == WARM_UP:
        print("writing", flush=True)
"""


@contextlib.contextmanager
def program(code: str, *words: str, launcher: list[str] | None = None, says: str = "") -> Generator[None]:
    """A program beside the server that ends with the stand; waits for what it ``says`` first."""
    command = [*(launcher or []), sys.executable, "-c", code, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if says:
                assert process.stdout is not None
                assert process.stdout.readline().strip() == says
            yield
        finally:
            process.kill()


def swap_used_kb() -> float:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    figures = {words[0]: int(words[1]) for words in lines}
    return float(figures["SwapTotal:"] - figures["SwapFree:"])


def page(content: str, workers: int) -> Build:
    """Apache with mod_php and so many workers."""

    def build(bench: Bench, lifted: bool) -> Stand:
        count = 4 * workers if lifted else workers
        server = bench.apache(mpm="prefork", php="mod", workers=count, pages={"page.php": content})
        return Stand(f"{server.url}page.php", ("--apache", server.status_url))

    return build


def old_swap(bench: Bench, lifted: bool) -> Stand:
    bench.stack.enter_context(swap_file(SWAP_MB))
    group = bench.stack.enter_context(memory_group(LITTLE_MB))
    bench.stack.enter_context(program(HOARD, launcher=group.launcher, says="full"))
    stand = page(SHORTLY, 20)(bench, lifted)
    return Stand(stand.url, stand.watch, sign=swap_used_kb)


def busy_disk(bench: Bench, lifted: bool) -> Stand:
    """The stand is ready when every writer has waited for the disk for a second."""
    stand = page(SHORTLY, 20)(bench, lifted)
    slow = bench.stack.enter_context(slow_disk(WRITES_A_SECOND))
    for number in range(WRITERS):
        file = str(slow.directory / str(number))
        bench.stack.enter_context(program(SYNC, file, launcher=slow.launcher, says="writing"))
    return Stand(stand.url, stand.watch, sign=slow.busy_ms)


def one_neighbour(bench: Bench, lifted: bool) -> Stand:
    bench.stack.enter_context(program(BURN))
    return page(SHORTLY, 20)(bench, lifted)


def neighbours(bench: Bench, lifted: bool) -> Stand:
    if not lifted:
        for _ in range(2 * (os.cpu_count() or 1)):
            bench.stack.enter_context(program(BURN))
    return page(COMPUTING, 20)(bench, lifted)


def full_pool_beside(neighbour: str, bench: Bench, lifted: bool) -> Stand:
    for _ in range(os.cpu_count() or 1):
        bench.stack.enter_context(program(neighbour))
    return page(WAITING, 4)(bench, lifted)


def generator_beside_a_neighbour(bench: Bench, lifted: bool) -> Stand:
    """Both are bound to the last core; lifted: the generator has it for itself."""
    core = str((os.cpu_count() or 1) - 1)
    launcher = ("taskset", "-c", core)
    if not lifted:
        bench.stack.enter_context(program(BURN, launcher=list(launcher)))
    server = bench.nginx()
    return Stand(server.url, ("--nginx", server.status_url), launcher)


def service_beside_two_on_its_core(bench: Bench, lifted: bool) -> Stand:
    """All are bound to the last core; lifted: the service has it for itself."""
    launcher = ("taskset", "-c", str((os.cpu_count() or 1) - 1))
    for _ in range(0 if lifted else 2):
        bench.stack.enter_context(program(BURN, launcher=list(launcher)))
    return Stand(bench.service(BURNING, 0, launcher=launcher).url)


def anything(proof: Proof) -> bool:
    return proof.rps > 0


CASES = [
    Case(
        name="swap occupied long ago", expected="none", build=old_swap, concurrency=4, gain=None,
        proven=lambda proof: proof.before > 50_000 and proof.change.swap_in_kb_s < 40,
    ),
    Case(
        name="an unrelated busy disk", expected="none", build=busy_disk, concurrency=4, gain=None,
        proven=lambda proof: proof.peak - proof.before > BUSY * 1000 * PROOF_S,
    ),
    Case(
        name="a full pool on a busy CPU", expected="cpu", build=page(COMPUTING, 4), concurrency=12, gain=None,
        evidence="cpu.busy_pct", proven=lambda proof: proof.change.idle + proof.change.iowait < 10,
    ),
    Case(
        name="a status page that cannot answer", expected="apache-workers", build=page(TWO_SECONDS, 4), concurrency=40,
        proven=lambda proof: proof.change.idle > 30, advice="MaxRequestWorkers", gain=2.0, proof_s=9,
    ),
    Case(
        name="a neighbour that takes a core", expected="none", build=one_neighbour, concurrency=4, gain=None,
        proven=lambda proof: proof.change.idle < 60,
    ),
    Case(
        name="neighbours that take the CPU", expected="cpu", build=neighbours, concurrency=6,
        proven=lambda proof: proof.change.idle < 10, advice="not part of the web server", gain=1.3,
    ),
    *(
        Case(
            name=f"{neighbours} beside a full pool", expected="apache-workers",
            build=partial(full_pool_beside, program), concurrency=12, evidence="apache.full_pct",
            advice="MaxRequestWorkers", gain=2.0, proven=lambda proof: proof.change.idle < 10,
        )
        for neighbours, program in (("neighbours", BURN), ("short-lived neighbours", BURN_BRIEFLY))
    ),
    Case(
        name="a generator beside a neighbour", expected="generator", build=generator_beside_a_neighbour,
        concurrency=20, evidence="generator.worker_wanted_pct", advice="waits for a CPU", proven=anything,
    ),
    Case(
        name="two programs on the core of a service", expected="cpu-core", build=service_beside_two_on_its_core,
        concurrency=4, evidence="process.wanted_pct", advice="shares the core with them", proven=anything,
    ),
    Case(
        name="half load", expected="none", build=page(COMPUTING, 20), concurrency=1, proven=anything, gain=None,
        options=("--rate", "60", "-t", str(RUN_S)), advice="headroom",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_is_not_fooled(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
