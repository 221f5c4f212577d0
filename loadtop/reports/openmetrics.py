"""The newest snapshot in OpenMetrics' text format, which Prometheus and its kin read.

Source: OpenMetrics 1.0.0, "Text format". Names of metrics are those of ``--fail-if`` with ``loadtop_`` before them and
``_`` for dots, so units are in the names as they are there (ms, kB, percent).
"""

from collections.abc import Iterator, Mapping

from loadtop import __version__
from loadtop.i18n import plain
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS, PERCENTILES, TIMES_OF_REQUESTS
from loadtop.servers.registry import HOST_METRICS

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_FIGURES = {
    **dict.fromkeys(("requests", "failed", "non_2xx", "received_bytes"), "counter"),
    **dict.fromkeys(("concurrency", "rate", "in_flight"), "gauge"),
}
"""Figures of the load that it has as they are, with their types."""


def openmetrics(snapshot: Snapshot | None, url: str) -> str:
    """The whole text; before the first snapshot, only what is known then. What was not measured has no sample."""
    lines = [*_family("loadtop", "info", "The program, and the tested URL.")]
    lines.append(_sample("loadtop_info", {"version": __version__, "url": url}, 1))
    if snapshot is not None:
        lines += _load(snapshot)
        lines += _hosts(snapshot)
        lines += _verdict(snapshot)
        lines += _breakdown(snapshot)
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


def _load(snapshot: Snapshot) -> Iterator[str]:
    load, measured = snapshot.load, snapshot.measured
    if load is None:
        return
    for name, kind in _FIGURES.items():
        value: float | None = getattr(load, name)
        if value is not None:
            about, suffix = ("since the load started", "_total") if kind == "counter" else ("now", "")
            yield from _family(f"loadtop_load_{name}", kind, f"{name} {about}.")
            yield _sample(f"loadtop_load_{name}{suffix}", {}, value)
    times: list[str] = []
    for metric in LOAD_METRICS:
        value = metric.read(measured)
        if value is None:
            continue
        if metric.name in TIMES_OF_REQUESTS:
            percentile = f"{PERCENTILES.get(metric.name, 100.0):g}"
            times.append(_sample("loadtop_load_latency_ms", {"percentile": percentile}, value))
            continue
        name = f"loadtop_load_{metric.name}_pct" if metric.unit == "%" else f"loadtop_load_{metric.name}"
        yield from _family(name, "gauge", f"{metric.title} ({metric.unit}) in the last interval.")
        yield _sample(name, {}, value)
    if times:
        yield from _family(
            "loadtop_load_latency_ms", "gauge", "Percentiles of the response times of the last interval."
        )
        yield from times


def _hosts(snapshot: Snapshot) -> Iterator[str]:
    for metric in HOST_METRICS:
        name = f"loadtop_{metric.name.replace('.', '_')}"
        values = {host.name: metric.read(host) for host in snapshot.measured.hosts}
        known = {host: value for host, value in values.items() if value is not None}
        if known:
            yield from _family(name, "gauge", f"{metric.title} ({metric.unit or 'number'}) of each host.")
            yield from (_sample(name, {"host": host}, value) for host, value in known.items())


def _verdict(snapshot: Snapshot) -> Iterator[str]:
    found = snapshot.diagnosis.verdict
    labels = {"bottleneck": found.bottleneck, "host": found.host or ""}
    yield from _family("loadtop_verdict", "gauge", "Always 1; its label names the current limit (none: headroom).")
    yield _sample("loadtop_verdict", labels, 1)
    yield from _family("loadtop_verdict_confidence", "gauge", "Confidence of the verdict, from 0 to 1.")
    yield _sample("loadtop_verdict_confidence", {}, found.confidence)


def _breakdown(snapshot: Snapshot) -> Iterator[str]:
    found = snapshot.breakdown
    if found is None or found.shares is None:
        return
    yield from _family("loadtop_breakdown_ms", "gauge", "Where the mean response time went in the last interval.")
    for share in found.shares:
        if share.ms is not None:
            labels = {"part": share.part, "host": share.host or "", "name": share.name or "", "kind": share.kind or ""}
            yield _sample("loadtop_breakdown_ms", labels, share.ms)
    if found.unexplained_ms is not None:
        labels = {"part": "unexplained", "host": "", "name": "", "kind": ""}
        yield _sample("loadtop_breakdown_ms", labels, found.unexplained_ms)


def _family(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# TYPE {name} {kind}", f"# HELP {name} {about}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')
