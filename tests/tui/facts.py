"""What each panel must say of a view at every size from 60x20 on: figures beside their labels, in their roles."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from loadtop.diagnosis.errors import ERRORS
from loadtop.diagnosis.finding import NONE, Finding
from loadtop.i18n import tr
from loadtop.model import LoadState
from loadtop.model.histogram import percentile_ms
from loadtop.model.server import Blocker
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.kind import AnyKind
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.nginx.kind import NGINX, dropped
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.registry import verdict_named
from loadtop.servers.uwsgi.kind import UWSGI
from tests.tui.stage import Cell
from tui.drawing.appearance import Glyphs
from tui.drawing.line import Role
from tui.drawing.numbers import count, milliseconds, per_second, percent, quantity, size, speed
from tui.panels.breakdown import ROLES, part_in_words
from tui.panels.processes import ordered
from tui.state.view import Phase, View


class Fact(NamedTuple):
    """A pattern that a row matches; its group is in this role, unless that is None."""

    pattern: str
    role: Role | None = None

    def holds(self, rows: Sequence[Sequence[Cell]]) -> bool:
        for row in rows:
            for found in re.finditer(self.pattern, "".join(character for character, _ in row)):
                roles = {role for character, role in row[slice(*found.span(1))] if character != " "}
                if self.role is None or roles == {self.role}:
                    return True
        return False


def fact(before: str, figure: str, after: str = "", role: Role | None = Role.VALUE) -> Fact:
    """A figure between these words, with any number of blanks beside it."""
    first, last = re.escape(before.strip()), re.escape(after.strip())
    return Fact(rf"{first}(?<![\d.])\s*({re.escape(figure.strip())})(?![\d.])\s*{last}", role)


def either(*patterns: str) -> Fact:
    return Fact("(" + "|".join(patterns) + ")", None)


def bad_if(holds: object) -> Role:
    return Role.BAD if holds else Role.VALUE


def of_verdict(view: View, glyphs: Glyphs) -> Iterator[Fact]:
    finding = None if view.snapshot is None else view.snapshot.diagnosis.verdict
    title, role = headline(view, finding)
    if finding is not None and finding.dependency is not None:
        yield Fact(f"({re.escape(finding.dependency.address)})[ :]")
    sign = {Role.GOOD_BADGE: glyphs.fine, Role.BAD_BADGE: glyphs.limit}.get(role, glyphs.unsure)
    yield Fact(f"({re.escape(f'{sign} {title}')}) ", role)
    if finding is not None and title == tr(verdict_named(finding.bottleneck).title).upper():
        telling = [
            item
            for item in finding.evidence
            if (item.value <= item.threshold if item.below else item.value >= item.threshold)
        ]
        for item in [*telling, *finding.evidence][:1]:
            yield fact("", quantity(item.value, item.unit), role=Role.VALUE if telling else Role.DIM)
        if finding.bottleneck != NONE and finding.host and finding.subject is None:
            yield Fact(f"({finding.host})")


def headline(view: View, finding: Finding | None) -> tuple[str, Role]:
    """The words at the top, and their role."""
    load = view.load
    if view.phase is Phase.BROKEN:
        return tr("MEASUREMENT FAILED"), Role.BAD_BADGE
    if load is not None and load.state is LoadState.FAILED:
        return tr("LOAD FAILED"), Role.BAD_BADGE
    if view.phase is Phase.DONE or (load is not None and load.state.ended):
        return tr("DONE"), Role.GOOD_BADGE
    if finding is None:
        return tr("STARTING"), Role.WARN_BADGE
    verdict = verdict_named(finding.bottleneck)
    if finding.bottleneck == NONE:
        if any(view.is_stale(host) for host in view.hosts):
            return tr("UNKNOWN"), Role.WARN_BADGE
        if not finding.evidence:
            return tr("MEASURING"), Role.WARN_BADGE
        return tr(verdict.title).upper(), Role.GOOD_BADGE
    return tr(verdict.title).upper(), Role.WARN_BADGE if verdict.doubtful else Role.BAD_BADGE


def of_breakdown(view: View, glyphs: Glyphs) -> Iterator[Fact]:
    """The largest part with its share, and its filling in the bar."""
    now = view.history.request_time.now()
    if now is None:
        return
    first = now.parts[0]
    sign = glyphs.unknown if first.part is None else glyphs.patterns[first.hue]
    yield Fact(rf"({re.escape(sign)}+)", ROLES[-1 if first.part is None else first.hue])
    yield Fact(rf"{re.escape(part_in_words(first)[:4])}.*?({100 * first.ms / now.mean_ms:.0f} %)", Role.VALUE)


def of_load(view: View, _: Glyphs) -> Iterator[Fact]:
    load, snapshot = view.load, view.snapshot
    if load is None or snapshot is None:
        return
    rates = snapshot.measured.load_rates
    yield fact("", per_second(None if rates is None else rates.rps), tr(" req/s"))
    if load.in_flight is None and load.workers:
        there = sum(not worker.missing for worker in load.workers)
        yield fact("", str(there), tr(" workers"), bad_if(there < len(load.workers)))
    else:
        yield fact("", count(load.in_flight), tr(" in flight"))
    stated = next((times.p99_ms for times in load.stated if times.part == "total"), None)
    slowest = percentile_ms(load, 99.0)
    p99 = re.escape(milliseconds(stated if slowest is None else slowest))
    yield either(rf"p99\s+{p99} ", rf" {p99} ms p99")
    if not load.message or load.state is LoadState.FAILED or snapshot.diagnosis.verdict.bottleneck == ERRORS.name:
        yield fact(tr("failed "), count(load.failed), role=bad_if(load.failed))
        yield fact(tr("  not 2xx "), count(load.non_2xx), role=bad_if(load.non_2xx))


def of_cpu(view: View, glyphs: Glyphs) -> Iterator[Fact]:
    shares = None if view.rates is None else view.rates.cpu
    if shares is None:
        return
    yield fact(tr("idle "), percent(shares.idle), "%")
    values = (shares.user + shares.nice, shares.kernel, shares.iowait, shares.steal)
    for shade, value in zip(glyphs.shades, values, strict=True):
        yield Fact(rf"{re.escape(shade)}[a-z]+\s*({re.escape(percent(value).strip())})(?![\d.])", Role.VALUE)


def of_memory(view: View, _: Glyphs) -> Iterator[Fact]:
    sample, rates = view.sample, view.rates
    if sample is None or sample.memory is None:
        return
    known = sample.memory.available_kb
    yield fact(tr("available "), size(known), role=bad_if(known is not None and known < 0.1 * sample.memory.total_kb))
    swap = sample.swap
    yield fact(tr("swap "), percent(None if swap is None else 100.0 * (1 - swap.free_kb / swap.total_kb)), "%")
    paging = None if rates is None else rates.paging
    for name, rate in (
        (tr(" in "), None if paging is None else paging.swap_in_kb),
        (tr(" out "), None if paging is None else paging.swap_out_kb),
    ):
        yield fact(name, speed(rate), role=bad_if(rate is not None and rate >= 40.0))
    stall = None if rates is None or rates.pressure is None else rates.pressure.memory_some
    yield fact(tr("stall"), percent(stall), "%", bad_if(stall is not None and stall >= 10.0))
    yield fact(tr("faults "), per_second(None if paging is None else paging.major_faults))


def of_devices(view: View, _: Glyphs) -> Iterator[Fact]:
    rates = view.rates
    if rates is None:
        return
    for disk in sorted(rates.disks or (), key=lambda disk: -(disk.util or 0.0))[:1]:
        yield fact("", percent(disk.util), "%", bad_if(disk.util is not None and disk.util >= 80.0))
    for network in sorted(rates.networks or (), key=lambda each: -each.rx_kb - each.tx_kb)[:1]:
        words = (tr("in "), speed(network.rx_kb), tr(" out "), speed(network.tx_kb))
        both = (tr("in+out "), speed(network.rx_kb + network.tx_kb))
        yield either(*(r"\s*".join(re.escape(each.strip()) for each in said) for said in (words, both)))
    if rates.tcp is not None:
        lost = rates.tcp.listen_overflows
        yield fact(tr("overflows "), per_second(lost), "/s", bad_if(lost))


def of_apache(view: View, _: Glyphs) -> Iterator[Fact]:
    for page in APACHE.rates(view.rates_with(APACHE.name))[:1]:
        status = page.reading
        full = status.full >= 95.0
        yield fact(
            tr("busy "), str(status.busy + status.graceful), tr(" of {all}  ", all=status.capacity), bad_if(full)
        )
        for letter in set(status.scoreboard):
            yield Fact(f"({re.escape(letter)})")


def of_nginx(view: View, _: Glyphs) -> Iterator[Fact]:
    for server in NGINX.rates(view.rates)[:1]:
        status, lost = server.reading, dropped(server)
        full = status.full is not None and status.full >= 95.0
        capacity = tr(" of {all}  ", all=count(status.capacity))
        yield fact(tr("connections "), count(status.used), capacity, bad_if(lost or full))
        yield fact(tr("writing"), count(status.writing))
        yield fact(tr("keep-alive"), count(status.waiting), role=Role.DIM)
        yield fact(tr("dropped/s"), per_second(lost), role=Role.BAD if lost else Role.DIM)


def of_fpm(view: View, _: Glyphs) -> Iterator[Fact]:
    pools = sorted(PHP_FPM.rates(view.rates), key=lambda each: (-(each.reading.listen_queue or 0), each.reading.pool))
    for pool in (each.reading for each in pools[:1]):
        yield Fact(f"({re.escape(count(pool.active, 5) + count(pool.max_children, 5))})")
        yield fact("", count(pool.listen_queue), role=bad_if(pool.listen_queue))


def of_workers_of(kind: AnyKind) -> Callable[[View, Glyphs], Iterator[Fact]]:
    return lambda view, _: _of_pools(kind, view)


def _of_pools(kind: AnyKind, view: View) -> Iterator[Fact]:
    pools = sorted(kind.rates(view.rates), key=lambda each: (-(each.reading.queued or 0), -(each.reading.full or 0.0)))
    for pool in (each.reading for each in pools[:1]):
        yield Fact(f"({re.escape(count(pool.active, 5) + count(pool.slots, 5))})")
        yield fact("", count(pool.queued), role=bad_if(pool.queued))


def of_haproxy(view: View, _: Glyphs) -> Iterator[Fact]:
    longest = max((each.reading.queue or 0 for each in HAPROXY.rates(view.rates)), default=0)
    if longest:
        yield fact("", count(longest), role=Role.BAD)


def of_redis(view: View, _: Glyphs) -> Iterator[Fact]:
    servers = sorted(REDIS.rates(view.rates), key=lambda each: -(each.reading.full or 0.0))
    for server in servers[:1]:
        status, busy = server.reading, server.per_second["cpu"]
        full = status.full is not None and status.full >= 95.0
        lost = server.per_second["rejected"]
        yield fact(tr("thread "), percent(busy), "%", bad_if(busy is not None and busy >= 95.0))
        yield fact(tr("clients"), count(status.clients), role=bad_if(full or lost))
        yield fact(tr("blocked clients"), count(status.blocked))
        yield fact(tr("slow log"), count(status.slowlog), role=Role.DIM)


def blocking(blocker: Blocker) -> Fact:
    return Fact(rf"{re.escape(tr('blocked by {session} ', session=blocker.session))}({blocker.blocked}) ", Role.BAD)


def of_mysql(view: View, _: Glyphs) -> Iterator[Fact]:
    for server in MYSQL.rates(view.rates)[:1]:
        status, rates = server.reading, server.per_second
        full = status.full is not None and status.full >= 95.0
        limit = tr(" of {all}  ", all=count(status.max_connections))
        yield fact(tr("connected "), count(status.connected), limit, bad_if(full or rates["refused"]))
        yield fact(tr("executing"), count(status.running))
        yield fact(tr("row lock waits"), count(status.lock_waits), role=Role.BAD if status.lock_waits else Role.DIM)
        if status.blocker is None:
            yield fact(tr("lock ms/s"), count(rates["lock_ms"]))
        else:
            yield blocking(status.blocker)


def of_postgresql(view: View, _: Glyphs) -> Iterator[Fact]:
    for server in POSTGRESQL.rates(view.rates)[:1]:
        status = server.reading
        full = status.full is not None and status.full >= 95.0
        yield fact(tr("connected "), count(status.connected), tr(" of {all}  ", all=count(status.usable)), bad_if(full))
        yield fact(tr("executing"), count(status.active))
        yield fact(tr("lock waits"), count(status.lock_waits), role=Role.BAD if status.lock_waits else Role.DIM)
        if status.blocker is None:
            yield fact(tr("blockers"), count(status.blockers), role=Role.DIM)
        else:
            yield blocking(status.blocker)


def of_processes(view: View, _: Glyphs) -> Iterator[Fact]:
    processes = None if view.rates is None else view.rates.processes
    if processes:
        first = ordered(processes)[0]
        yield Fact(rf"{first.process.pid} .* ({re.escape(first.process.name[:4])})", Role.TEXT)
        yield fact("", percent(first.cpu))


def of_workers(view: View, _: Glyphs) -> Iterator[Fact]:
    for worker in () if view.load is None else view.load.workers:
        if worker.missing:
            yield Fact("(missing)", Role.BAD)


def of_time(view: View, glyphs: Glyphs) -> Iterator[Fact]:
    for name in {span.bottleneck for span in view.history.timeline.spans if span.end > span.start}:
        letter = glyphs.dot if name == NONE else verdict_named(name).letter
        yield Fact(f"({re.escape(letter)})", Role.DIM if name == NONE else Role.BAD)


OF_PANELS: dict[str, Callable[[View, Glyphs], Iterator[Fact]]] = {
    "verdict": of_verdict,
    "breakdown": of_breakdown,
    "load": of_load,
    "cpu": of_cpu,
    "memory": of_memory,
    "devices": of_devices,
    "apache": of_apache,
    "nginx": of_nginx,
    "fpm": of_fpm,
    "uwsgi": of_workers_of(UWSGI),
    "gunicorn": of_workers_of(GUNICORN),
    "haproxy": of_haproxy,
    "redis": of_redis,
    "mysql": of_mysql,
    "postgresql": of_postgresql,
    "processes": of_processes,
    "workers": of_workers,
    "time": of_time,
}


def of_header(view: View, cells: int) -> Iterator[Fact]:
    load = view.load
    if view.paused:
        yield Fact(f"({re.escape(tr(' display held ').strip())})", Role.WARN_BADGE)
    if load is not None and load.concurrency is not None:
        yield Fact(f"({re.escape(tr('{c} connections', c=load.concurrency))}) ", Role.ACCENT)
    if load is not None and load.state is LoadState.FAILED:
        yield Fact(f"({re.escape(tr(' load failed ').strip())})", Role.BAD_BADGE)
    if len(view.hosts) > 1 and cells >= 80:
        yield Fact(f"(1/{len(view.hosts)})", Role.ACCENT)
