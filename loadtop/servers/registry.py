"""Every kind of server once. A new kind is one line here, in ``collectors`` and in ``tui``."""

from typing import Any

from loadtop.diagnosis.diagnoser import HEADROOM, MACHINE_VERDICTS
from loadtop.diagnosis.verdict import Verdict, ranked
from loadtop.i18n import Translatable, tr
from loadtop.model import LOADTOP, OTHER, SERVICE
from loadtop.rates.metrics import MACHINE_METRICS, HostMetric
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.kind import AnyKind, Workers
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.nginx.kind import NGINX
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.uwsgi.kind import UWSGI

KINDS: tuple[AnyKind, ...] = (APACHE, NGINX, PHP_FPM, UWSGI, GUNICORN, HAPROXY, REDIS, MYSQL, POSTGRESQL)

HOST_METRICS: tuple[HostMetric, ...] = (*MACHINE_METRICS, *(metric for kind in KINDS for metric in kind.metrics))

VERDICTS: tuple[Verdict, ...] = ranked((*MACHINE_VERDICTS, *(verdict for kind in KINDS for verdict in kind.verdicts)))
"""Every limit that can be named, causes first; ``none`` is not among them."""

PROCESS_GROUPS = (*(kind.group for kind in KINDS), SERVICE, LOADTOP, OTHER)
"""What a process can belong to, servers first."""

WORKERS: dict[str, Workers[Any]] = {kind.name: kind.workers for kind in KINDS if kind.workers is not None}
"""How the workers of each kind of server are measured and limited, by its name."""

DEMANDS = tuple(kind.demands for kind in KINDS)

_BY_NAME = {verdict.name: verdict for verdict in (HEADROOM, *VERDICTS)}

EVIDENCE_TITLES: dict[str, Translatable] = {metric.name: metric.title for metric in HOST_METRICS} | {
    name: title for verdict in VERDICTS for name, title in verdict.titles.items()
}
"""What the metrics in evidence are called, except those of devices and cores."""

_DEVICES: dict[str, Translatable] = {
    "util_pct": "busy",
    "await_ms": "time per request",
    "tx_mbit_s": "sends",
    "rx_mbit_s": "receives",
    "queue_drops_s": "queue drops",
    "queue_overlimits_s": "packets delayed",
    "queue_backlog": "packets queued",
    "policed_drops_s": "packets over the rate",
}

_OF_CORES: dict[str, Translatable] = {
    "busy_pct": "cpu{core} busy",
    "frequency_pct": "cpu{core} frequency",
    "capacity_pct": "cpu{core} capacity",
}

VERDICT_NAMES = tuple(_BY_NAME)  # every name that a verdict can have, `none` first


def verdict_named(name: str) -> Verdict:
    """The verdict of this name. Raises KeyError for an unknown name."""
    return _BY_NAME[name]


def evidence_title(name: str) -> str:
    """Return what a metric in evidence is called, in the reader's language."""
    if name in EVIDENCE_TITLES:
        return tr(EVIDENCE_TITLES[name])
    where, _, what = name.partition(".")
    if where.startswith("core") and what in _OF_CORES:
        return tr(_OF_CORES[what], core=where.removeprefix("core"))
    if name.startswith("other."):
        return tr("{name} uses", name=name.partition(".")[2].rpartition(".")[0])
    if name.startswith(("disk.", "network.")):
        device, _, what = name.partition(".")[2].rpartition(".")
        return f"{device} {tr(_DEVICES.get(what, what))}"
    return name.replace("_", " ")
