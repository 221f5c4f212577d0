"""gunicorn as a kind of server. Its verdict: every worker is busy, so that requests wait for one."""

from functools import partial

from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.model import Role
from loadtop.rates.metrics import Metric
from loadtop.servers.gunicorn.record import GROUP, NAME, GunicornPool
from loadtop.servers.kind import Kind, summed
from loadtop.servers.pools import Pools

_POOLS = Pools(
    NAME,
    GROUP,
    "gunicorn",
    GunicornPool,
    configuration="workers = {workers}\nthreads = {threads}",
    enable="",
    apply="Reload gunicorn (SIGHUP) for the change to take effect.",
)
_sum = partial(summed, NAME, GunicornPool)

GUNICORN_WORKERS = Verdict(
    name="gunicorn-workers",
    letter="V",
    title="gunicorn workers",
    sentence="gunicorn's workers are the limit",
    headline="are the limit",
    family=Family.POOL,
    role=Role.APPLICATION,
    of_host=_POOLS.assess,
    titles={
        "gunicorn.full_pct": "workers busy",
        "gunicorn.active": "busy workers",
        "gunicorn.listen_queue": "pool queue",
        "gunicorn.callers": "requests waiting for a worker",
    },
)

GUNICORN = Kind(
    name=NAME,
    group=GROUP,
    role=Role.APPLICATION,
    title="gunicorn",
    record=GunicornPool,
    metrics=(
        Metric("gunicorn.active", "busy gunicorn workers", "", "neither", _sum("active")),
        Metric("gunicorn.listen_queue", "gunicorn queue", "", "lower", _sum("queued")),
    ),
    verdicts=(GUNICORN_WORKERS,),
    demands=_POOLS.demands(GUNICORN_WORKERS.name),
    rows=_POOLS.rows,
    brief=_POOLS.brief,
    settings=_POOLS.settings,
    seen=_POOLS.seen,
    workers=_POOLS.workers(GUNICORN_WORKERS.name),
)
