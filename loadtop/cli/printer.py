"""A line per interval, for tests without a screen."""

import sys

from loadtop.i18n import Text, figure, language, plain, rendered, tr
from loadtop.model import LoadLevel, LoadSample, LoadState
from loadtop.model.histogram import percentile_ms
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import swap_used
from loadtop.rates.records import LoadRates
from loadtop.reports.limits import on_host, subject_after
from loadtop.reports.text import brief
from loadtop.servers.registry import verdict_named


class Printer:
    """Prints each snapshot as one line on standard error, because standard output is for the report."""

    def __init__(self) -> None:
        self._message: Text = ""

    def show(self, snapshot: Snapshot) -> None:
        """Print the snapshot's line, marks, and the load's message when it changes."""
        frame, load = snapshot.measured.frame, snapshot.measured.load
        if load is not None and load.is_unreachable:
            return  # the error at the end says it all
        lines = [line(snapshot)] if frame.number > 1 else []
        lines += [f"        {tr('mark: {text}', text=plain(text))}" for text in frame.marks]
        if load is not None and load.message and load.message != self._message:
            self._message = load.message
            lines.append(f"        {rendered(load.message)}")
        for text in lines:
            print(text, file=sys.stderr, flush=True)


def line(snapshot: Snapshot) -> str:
    """Time, load, each machine in a few figures, and the limit."""
    measured = snapshot.measured
    parts = [tr("{s} s", s=f"{snapshot.at:6.1f}")]
    if measured.load is not None:
        parts.append(_load(measured.load, measured.load_rates))
    parts += [_host(host, named=len(measured.hosts) > 1) for host in measured.hosts]
    verdict = snapshot.diagnosis.verdict
    name = verdict.bottleneck.upper() if language() == "en" else tr(verdict_named(verdict.bottleneck).title)
    parts.append(f"{name}{subject_after(verdict)}{on_host(verdict.host)}")
    return "  ".join(parts)


def _load(load: LoadSample, rates: LoadRates | None) -> str:
    if load.state is LoadState.STARTING:
        return tr("starting")
    p50, p99 = (percentile_ms(load, percent) for percent in (50.0, 99.0))
    level = str(LoadLevel.of(load)) or plain(load.engine)
    failed = tr(" failed {number}", number=load.failed) if load.failed else ""
    wrong = tr(" not2xx {number}", number=load.non_2xx) if load.non_2xx else ""
    warm = f" {tr('warm-up')}" if load.state is LoadState.WARMUP else ""
    rps = figure(None if rates is None else rates.rps)
    return f"{level} {rps:>7}/s  p50 {figure(p50):>5} p99 {figure(p99):>5} ms{failed}{wrong}{warm}"


def _host(host: HostView, *, named: bool) -> str:
    name = f"{plain(host.name)}: " if named else ""
    if host.stale_s > 0 or host.sample is None:
        gap = tr("no sample for {time}", time=tr("{s} s", s=f"{host.stale_s:.0f}")) if host.stale_s >= 2 else "-"
        return f"{name}{gap}"
    rates = host.rates
    if rates is None:
        return f"{name}-"
    cpu = rates.cpu
    text = name + tr("idle {share} %", share=f"{figure(None if cpu is None else round(cpu.idle)):>3}")
    if cpu is not None and cpu.iowait is not None and cpu.iowait >= 1:
        text += tr(" wait {share} %", share=f"{cpu.iowait:.0f}")
    if cpu is not None and cpu.steal is not None and cpu.steal >= 1:
        text += f" steal {cpu.steal:.0f} %"
    used = swap_used(host)
    if used is not None and used >= 1:
        text += tr(" swap {share} %", share=f"{used:.0f}")
    return text + brief(rates)
