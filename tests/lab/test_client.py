"""Limits of the load generator: its ports, its descriptors, its processor."""

from functools import partial
from pathlib import Path

import pytest

from tests.lab.beyond import behind
from tests.lab.case import RUN_S, Bench, Build, Case, Proof, Stand, judge, marked
from tests.lab.namespace import namespace
from tests.lab.pages import WAITING
from tests.lab.quota import cpu_quota, throttled_periods
from tests.lab.table import Report

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]


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


def little_processor(cores: float, *, tls: bool) -> Build:
    """A generator that may use a part of a processor, and a page that costs the server less than that."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.apache(mpm="event", workers=64, pages={"page.html": "x" * 1000}, tls=tls)
        launcher = [] if lifted else bench.stack.enter_context(cpu_quota(cores))
        sign = partial(throttled_periods, launcher) if launcher else None
        options = ("--apache", server.status_url, *(("--insecure",) if tls else ()))
        return Stand(f"{server.url}page.html", options, tuple(launcher), sign)

    return build


def is_short(proof: Proof) -> bool:
    return proof.rps == 0  # ab, with as few of them, gives up


def is_held(proof: Proof) -> bool:
    """The generator's group was stopped in most periods, and the machine had time to spare."""
    return proof.peak > 50 and proof.change.idle > 10


CASES = [
    Case(
        name="160 connections, 120 ports", expected="client-ports", build=few_ports(120), concurrency=160,
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
    Case(
        name="open load, 80 ports", expected="client-ports", build=few_ports(80), concurrency=160, proven=is_short,
        evidence="generator.ports_pct", advice="local ports", options=("-k", "--rate", "800", "-t", str(RUN_S)),
        codes=(0, 3), at_once=True,
    ),
    Case(
        name="generator of a fifth of a core", expected="generator", build=little_processor(0.2, tls=False),
        concurrency=16, proven=is_held, evidence="generator.throttled_pct", advice="load generator's CPU quota",
        options=("--rate", "8000", "-t", str(RUN_S)), within_s=6.0,  # it shares this part of a core with all of loadtop
    ),
    Case(
        name="TLS generator of a third of a core", expected="generator", build=little_processor(0.33, tls=True),
        concurrency=16, proven=is_held, evidence="generator.throttled_pct", advice="load generator's CPU quota",
        options=("--rate", "2000", "-t", str(RUN_S)),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_missing_resource_of_the_generator(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
