"""gunicorn as a kind of server. Its verdict: every worker is busy, so that requests wait for one."""

from functools import partial

from loadtop.rates.metrics import Metric
from loadtop.servers.gunicorn.record import NAME, SERVER, GunicornPool
from loadtop.servers.kind import summed
from loadtop.servers.pools import Pools

_sum = partial(summed, NAME, GunicornPool)

GUNICORN = Pools(
    *SERVER,
    title="gunicorn",
    record=GunicornPool,
    metrics=(
        Metric("gunicorn.active", "busy gunicorn workers", "", "neither", _sum("active")),
        Metric("gunicorn.listen_queue", "gunicorn queue", "", "lower", _sum("queued")),
    ),
    letter="V",
    workers="gunicorn workers",
    sentence="gunicorn's workers are the limit",
    configuration="workers = {workers}\nthreads = {threads}",
    enable="",
    apply="Reload gunicorn (SIGHUP) for the change to take effect; restart it if it has --workers on its command line.",
).kind()
