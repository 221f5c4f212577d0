"""What limits, letters and metrics are called on the screen: one place for each word."""

from loadtop.diagnosis.finding import Bottleneck, Evidence, Finding
from loadtop.i18n import Translatable, tr
from tui.drawing.line import Role
from tui.drawing.numbers import quantity
from tui.drawing.text import clip, clip_middle, width

CALM = "none"

LETTERS = {
    Bottleneck.NONE: "·",
    Bottleneck.GENERATOR: "G",
    Bottleneck.CLIENT_PORTS: "P",
    Bottleneck.CLIENT_FILES: "F",
    Bottleneck.ERRORS: "E",
    Bottleneck.APACHE_WORKERS: "A",
    Bottleneck.FPM_WORKERS: "H",
    Bottleneck.HAPROXY_QUEUE: "Q",
    Bottleneck.LISTEN_QUEUE: "L",
    Bottleneck.SWAP: "S",
    Bottleneck.MEMORY: "M",
    Bottleneck.DISK: "D",
    Bottleneck.STEAL: "T",
    Bottleneck.THROTTLED: "R",
    Bottleneck.CPU: "C",
    Bottleneck.CPU_CORE: "1",
    Bottleneck.NETWORK: "N",
    Bottleneck.WAITING: "W",
}
"""One letter per verdict, all different: the time strip is read without colour."""

HEADLINES: dict[Bottleneck, tuple[Translatable, Translatable]] = {
    Bottleneck.NONE: ("HEADROOM", "nothing is full"),
    Bottleneck.GENERATOR: ("GENERATOR", "the load generator is the limit, the figures are its own"),
    Bottleneck.CLIENT_PORTS: ("CLIENT PORTS", "the generator runs out of ports"),
    Bottleneck.CLIENT_FILES: ("CLIENT FILES", "the generator runs out of file descriptors"),
    Bottleneck.ERRORS: ("ERRORS", "most answers are errors: the figures measure failures"),
    Bottleneck.APACHE_WORKERS: ("APACHE WORKERS", "are the limit"),
    Bottleneck.FPM_WORKERS: ("PHP-FPM WORKERS", "are the limit"),
    Bottleneck.HAPROXY_QUEUE: ("HAPROXY QUEUE", "is the limit"),
    Bottleneck.LISTEN_QUEUE: ("LISTEN QUEUE", "overflows"),
    Bottleneck.SWAP: ("SWAP", "is the limit"),
    Bottleneck.MEMORY: ("MEMORY", "is the limit"),
    Bottleneck.DISK: ("DISK", "is the limit"),
    Bottleneck.STEAL: ("STEAL", "the hypervisor gives the CPU away"),
    Bottleneck.THROTTLED: ("THROTTLED", "a CPU quota is the limit"),
    Bottleneck.CPU: ("CPU", "is the limit"),
    Bottleneck.CPU_CORE: ("ONE CORE", "is the limit, others idle"),
    Bottleneck.NETWORK: ("NETWORK", "the line is the limit"),
    Bottleneck.WAITING: ("WAITING", "for something that is not watched"),
}
"""The name that is shown large, and what follows it."""


def headline(bottleneck: Bottleneck) -> tuple[str, str]:
    """The name that is shown large, and what follows it, in the language spoken."""
    name, rest = HEADLINES[bottleneck]
    return tr(name), tr(rest)


def is_sentence(bottleneck: Bottleneck) -> bool:
    """Whether what follows the name stands by itself, so that a colon belongs between them."""
    return HEADLINES[bottleneck][1].partition(" ")[0] not in ("is", "are", "for", "overflows")


def on(host: str | None) -> str:
    """Where a limit is, as it is put after its name; empty where that is not known."""
    return tr(" on {host}", host=host) if host else ""


_METRICS: dict[str, Translatable] = {
    "cpu.busy_pct": "CPU busy",
    "running": "want to run",
    "pressure.cpu_some_pct": "CPU stall",
    "pressure.memory_some_pct": "memory stall",
    "pressure.memory_full_pct": "full memory stall",
    "pressure.io_some_pct": "I/O stall",
    "pressure.io_full_pct": "full I/O stall",
    "swap.in_kb_s": "swap in",
    "swap.out_kb_s": "swap out",
    "swap.major_faults_s": "major faults",
    "apache.full_pct": "slots taken",
    "apache.busy": "busy workers",
    "tcp.accept_queue": "accept queue",
    "process.cpu_pct": "busiest process",
    "generator.worker_cpu_pct": "busiest generator process",
    "generator.unsent_pct": "not sent on time",
    "generator.ports_pct": "local ports in use",
    "generator.connections": "connections wanted",
    "generator.files": "open files",
    "load.failed_pct": "failed requests",
    "load.failed_s": "failed connections",
    "load.non_2xx_pct": "answers not 2xx",
    "load.waiting_pct": "in flight and waiting",
    "load.p10_ms": "fastest tenth takes",
    "load.p20_ms": "fastest fifth takes",
    "load.in_flight": "in flight",
    "load.rps": "requests",
    "fpm.full_pct": "children busy",
    "fpm.active": "busy children",
    "fpm.listen_queue": "pool's queue",
    "fpm.silent_s": "page silent for",
    "fpm.callers": "want a child",
    "haproxy.queue": "HAProxy's queue",
    "haproxy.queue_ms": "time in the queue",
    "haproxy.sessions": "HAProxy's sessions",
    "haproxy.full_pct": "frontend's connections",
    "tcp.listen_overflows_s": "queue overflows",
    "tcp.listen_drops_s": "connections dropped",
    "tcp.retransmits_s": "segments sent again",
    "memory.available_pct": "available",
    "memory.refaults_s": "wanted again",
    "cgroup.memory_pct": "group's memory used",
    "cgroup.throttled_pct": "periods throttled",
    "cgroup.throttled_ms_s": "stopped by the quota",
    "generator.throttled_pct": "periods throttled",
    "cpu.steal_pct": "stolen",
    "cpu.wanted_pct": "used or stolen",
    "blocked": "wait for a disk",
}

LEAST_NAME = 5
"""Cells of a machine's name that stay before a metric."""

_DEVICES: dict[str, Translatable] = {
    "util_pct": "busy",
    "await_ms": "await",
    "tx_mbit_s": "sends",
    "rx_mbit_s": "receives",
}


def metric(name: str) -> str:
    """A metric's name in words; one that has none here is shown as it is written in rules and reports."""
    if name in _METRICS:
        return tr(_METRICS[name])
    if name.startswith("core") and name.endswith(".busy_pct"):
        return tr("cpu{core} busy", core=name[4:-9])
    if name.startswith(("disk.", "network.")):
        device, _, what = name.partition(".")[2].rpartition(".")
        return f"{device} {tr(_DEVICES.get(what, what))}"
    return name.replace("_", " ")


def named(where: str, name: str, cells: int, ellipsis: str) -> str:
    """Machine and metric in so many cells: where there is no room for both, it is the machine's name that is cut."""
    words = metric(name)
    return clip(clip_middle(where, max(LEAST_NAME, cells - width(words)), ellipsis) + words, cells, ellipsis)


def threshold_of(evidence: Evidence) -> str:
    """The threshold in words: a limit, or what the value must stay below to speak for the finding."""
    value = quantity(evidence.threshold, evidence.unit)
    return tr("below {value}" if evidence.below else "limit {value}", value=value)


def counts(evidence: Evidence) -> bool:
    """Whether a value is on the side of its threshold on which it speaks for the finding."""
    return evidence.value <= evidence.threshold if evidence.below else evidence.value >= evidence.threshold


def severity(finding: Finding) -> Role:
    """How a verdict is coloured: bad, warning (the measurement or something unseen) or good."""
    if finding.bottleneck is Bottleneck.NONE:
        return Role.GOOD
    doubtful = {Bottleneck.GENERATOR, Bottleneck.CLIENT_PORTS, Bottleneck.CLIENT_FILES, Bottleneck.WAITING}
    return Role.WARN if finding.bottleneck in doubtful else Role.BAD
