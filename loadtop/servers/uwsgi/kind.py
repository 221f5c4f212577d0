"""uWSGI as a kind of server. Its verdict: every worker is busy, so that requests wait for one."""

from functools import partial

from loadtop.rates.metrics import Metric
from loadtop.servers.kind import summed
from loadtop.servers.pools import Pools
from loadtop.servers.uwsgi.record import NAME, SERVER, UwsgiStatus

_sum = partial(summed, NAME, UwsgiStatus)

UWSGI = Pools(
    *SERVER,
    title="uWSGI",
    record=UwsgiStatus,
    metrics=(
        Metric("uwsgi.active", "busy uWSGI workers", "", "neither", _sum("active")),
        Metric("uwsgi.listen_queue", "uWSGI queue", "", "lower", _sum("queued")),
        Metric("uwsgi.requests_s", "uWSGI requests", "/s", "higher", _sum("requests")),
        Metric("uwsgi.exceptions_s", "uWSGI exceptions", "/s", "lower", _sum("exceptions")),
    ),
    letter="U",
    workers="uWSGI workers",
    sentence="uWSGI's workers are the limit",
    configuration="[uwsgi]\nprocesses = {workers}\nthreads = {threads}",
    enable="Enable uWSGI's stats server and set its address with --uwsgi.",
    apply="Restart uWSGI for the change to take effect.",
).kind()
