"""What runs beside each scenario of the lab where `LOADTOP_LAB_BESIDE` is set: `noise`, or idle `servers`."""

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path

from tests.lab.case import Bench
from tests.servers.program import Program

BESIDE = os.environ.get("LOADTOP_LAB_BESIDE", "")
NOISE = """
import os, random, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    burst_s = random.uniform(0.05, 0.5)
    end = time.monotonic() + burst_s
    while time.monotonic() < end:
        pass
    time.sleep(burst_s * 85 / 15)
"""
"""Takes 15 % of one core, in bursts."""


@contextlib.contextmanager
def beside(directory: Path) -> Generator[None]:
    with contextlib.ExitStack() as stack:
        if BESIDE == "noise":
            for core in os.sched_getaffinity(0):
                stack.enter_context(
                    Program([sys.executable, "-c", NOISE, str(core)], log=directory / f"core{core}.log")
                )
        elif BESIDE == "servers":
            bench = Bench(stack)
            apache = bench.apache(mpm="event", php="fpm")
            bench.haproxy([apache.port])
            bench.nginx()
        elif BESIDE:
            raise ValueError(f"LOADTOP_LAB_BESIDE={BESIDE}: expected noise or servers")
        yield
