"""uWSGI as a kind of server. Its verdict: every worker is busy, so that requests wait for one."""

from functools import partial

from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.model import Role
from loadtop.rates.metrics import Metric
from loadtop.servers.kind import Kind, summed
from loadtop.servers.pools import Pools
from loadtop.servers.uwsgi.record import GROUP, NAME, UwsgiStatus

_POOLS = Pools(
    NAME,
    GROUP,
    "uWSGI",
    UwsgiStatus,
    configuration="[uwsgi]\nprocesses = {workers}\nthreads = {threads}",
    enable="Enable uWSGI's stats server and set its address with --uwsgi.",
    apply="Restart uWSGI for the change to take effect.",
)
_sum = partial(summed, NAME, UwsgiStatus)

UWSGI_WORKERS = Verdict(
    name="uwsgi-workers",
    letter="U",
    title="uWSGI workers",
    sentence="uWSGI's workers are the limit",
    headline="are the limit",
    family=Family.POOL,
    role=Role.APPLICATION,
    of_host=_POOLS.assess,
    titles={
        "uwsgi.full_pct": "workers busy",
        "uwsgi.active": "busy workers",
        "uwsgi.listen_queue": "pool queue",
        "uwsgi.callers": "requests waiting for a worker",
    },
)

UWSGI = Kind(
    name=NAME,
    group=GROUP,
    role=Role.APPLICATION,
    title="uWSGI",
    record=UwsgiStatus,
    metrics=(
        Metric("uwsgi.active", "busy uWSGI workers", "", "neither", _sum("active")),
        Metric("uwsgi.listen_queue", "uWSGI queue", "", "lower", _sum("queued")),
        Metric("uwsgi.requests_s", "uWSGI requests", "/s", "higher", _sum("requests")),
        Metric("uwsgi.exceptions_s", "uWSGI exceptions", "/s", "lower", _sum("exceptions")),
    ),
    verdicts=(UWSGI_WORKERS,),
    demands=_POOLS.demands(UWSGI_WORKERS.name),
    rows=_POOLS.rows,
    brief=_POOLS.brief,
    settings=_POOLS.settings,
    seen=_POOLS.seen,
    workers=_POOLS.workers(UWSGI_WORKERS.name),
)
