"""The demo's load: about a minute in which first nothing is full, then the worker pool, then the processor."""

import os

from loadtop.cli.demo.pages import BURN, LIGHT, WAIT
from loadtop.cli.demo.server import DemoTarget
from loadtop.generator.plan import Plan, Step, Target

HEADROOM_S, POOL_S, CPU_S = 18.0, 18.0, 20.0
SECONDS_VARIABLE = "LOADTOP_DEMO_SECONDS"
LIGHT_CONNECTIONS = 2


def demo_plan(target: DemoTarget, seconds: float | None = None) -> Plan:
    """Three steps on the demo's server: headroom, a full worker pool with an idle processor, a full processor.

    ``seconds`` is the time of all three together; without it the environment's ``LOADTOP_DEMO_SECONDS`` counts, and
    without that some 56 s. Twice as many connections as workers wait in the second step. Three times as many as
    cores compute in the third: fewer than workers (see :func:`loadtop.cli.demo.pages.worker_slots`).
    """
    whole = HEADROOM_S + POOL_S + CPU_S
    scale = (seconds or float(os.environ.get(SECONDS_VARIABLE) or whole)) / whole
    return Plan(
        targets=tuple(Target.parse(target.url + page.name) for page in (LIGHT, WAIT, BURN)),
        steps=(
            Step(concurrency=LIGHT_CONNECTIONS, duration_s=HEADROOM_S * scale, targets=(0,)),
            Step(concurrency=2 * target.workers, duration_s=POOL_S * scale, targets=(1,)),
            Step(concurrency=3 * target.cores, duration_s=CPU_S * scale, targets=(2,)),
        ),
        timeout_s=20.0,
    )
