"""Memory: pages that are swapped, or evicted and soon needed again, while tasks wait for them; and how many worker
processes it has room for. Occupancy never decides: pages swapped out long ago cost nothing (as atop's manual says)."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds, owner
from loadtop.i18n import Message, Parameter, sentences
from loadtop.model import CgroupLimits, Role
from loadtop.model.server import WorkerLimit
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import CgroupRates

TRAFFIC_KB_S = 40.0  # kB/s in and out together: atop calls more than 10 pages of 4 kB per second critical

FAULTS_S = 100.0  # major faults/s that slow tasks down; our own, well below node-mixin's 500/s over 15 minutes

STALL_PCT, STALL_CLEAR_PCT = 10.0, 4.0  # percent of the time in which some task waited for memory: psi-notify's 10

OWN_STALL_PCT = 1.0  # percent below which the server's control group does not wait for memory at all; our own

AVAILABLE_PCT, GROUP_PCT = 10.0, 90.0
"""Percent of memory available, and of a group's limit used: warnings of netdata and awesome-prometheus-alerts."""

REFAULTS_S = 500.0
"""Pages/s that were soon wanted again, or reclaimed by a task in need; our own, after node-mixin's 500 faults/s."""

USABLE = 0.8  # part of the free memory for more workers: the rest is for the page cache and everyone else

MUCH_ROOM = 20  # times the present number from which a number that memory allows is no help any more


def _own_stall(group: CgroupRates | None) -> float | None:
    """Percent of the time in which some task of a server's own control group waited for memory."""
    return None if group is None or group.pressure is None else group.pressure.memory_some


def _filled(host: HostView) -> Iterator[tuple[float, CgroupLimits, CgroupRates | None]]:
    """Percent of its memory limit that each control group of the servers uses."""
    for group, rates in host.control_groups():
        if group.memory_limit_kb and group.memory_used_kb is not None:
            yield 100.0 * group.memory_used_kb / group.memory_limit_kb, group, rates


def _most_in_need(filled: tuple[float, CgroupLimits, CgroupRates | None]) -> tuple[bool, float, float]:
    """Of several full groups, that whose tasks wait most: a full page cache costs nothing."""
    percent, _, rates = filled
    return percent > GROUP_PCT, _own_stall(rates) or 0.0, percent


def _assess_swap(_: Measured, host: HostView) -> Assessment | None:
    """Traffic that slows tasks down (memory stalls or major faults). If those of the server's own control group never
    wait for memory, other programs swap."""
    rates = host.rates
    if rates is None or rates.paging is None or (traffic := rates.paging.swap_kb) is None:
        return None
    faults = rates.paging.major_faults
    stall = None if rates.pressure is None else rates.pressure.memory_some
    stalled = None if stall is None else stall >= STALL_PCT
    faulted = None if faults is None else faults >= FAULTS_S
    own = max((stall for _, each in host.control_groups() if (stall := _own_stall(each)) is not None), default=None)
    others = own is not None and own < OWN_STALL_PCT
    return Assessment(
        over=traffic > TRAFFIC_KB_S and (stalled or faulted or stalled is faulted is None) and not others,
        held=traffic > TRAFFIC_KB_S / 4 and not others,
        evidence=(
            Row("swap.in_kb_s", rates.paging.swap_in_kb, TRAFFIC_KB_S, "kB/s", "atop: 10 pages/s"),
            Row("swap.out_kb_s", rates.paging.swap_out_kb, TRAFFIC_KB_S, "kB/s", "atop: 10 pages/s"),
            Row("pressure.memory_some_pct", stall, STALL_PCT, "%", "psi-notify: memory some 10 %"),
            Row("swap.major_faults_s", faults, FAULTS_S, "/s", "loadtop, calibrated"),
        ),
        advice=lambda: fewer_workers(host, swapping=True),
        confidence=agreement(stalled, faulted),
    )


SWAP = Verdict(
    name="swap",
    letter="S",
    title="swap",
    sentence="Swapping is the limit",
    headline="is the limit",
    family=Family.MEMORY,
    whole_machine=True,
    explains=("memory", "disk", "cpu", "cpu-core", Family.POOL),
    of_host=_assess_swap,
)


def _assess(_: Measured, host: HostView) -> Assessment | None:
    """Little memory is left, evicted pages are needed again, and tasks wait for them: all three, as far as they are
    measured. A full page cache leaves little of a control group's limit and costs nothing; stalls alone may be of
    another."""
    rates, sample = host.rates, host.sample
    if rates is None or sample is None or sample.memory is None or rates.paging is None:
        return None
    memory, paging = sample.memory, rates.paging
    filled, group, own = max(_filled(host), key=_most_in_need, default=(None, sample.cgroup, rates.cgroup))
    left = memory.available_pct
    wanted_again = [pages for pages in (paging.refaults_pages, paging.direct_reclaimed_pages) if pages is not None]
    if not wanted_again:
        return None
    again, stall = max(wanted_again), _own_stall(own)
    if stall is None and rates.pressure is not None:
        stall = rates.pressure.memory_some
    tight = (left is not None and left < AVAILABLE_PCT) or (filled is not None and filled > GROUP_PCT)
    little = Row("memory.available_pct", left, AVAILABLE_PCT, "%", "netdata: below 10 %", below=True)
    rows = (
        Row("cgroup.memory_pct", filled, GROUP_PCT, "%", "netdata: cgroup over 90 %"),
        Row("memory.refaults_s", again, REFAULTS_S, "pages/s", "loadtop, calibrated"),
        Row("pressure.memory_some_pct", stall, STALL_PCT, "%", "psi-notify: memory some 10 %"),
    )
    return Assessment(
        over=tight and again > REFAULTS_S and (stall is None or stall > STALL_PCT),
        held=tight and again > REFAULTS_S / 4 and (stall is None or stall > STALL_CLEAR_PCT),
        evidence=(little, *rows) if filled is None or (left or 0.0) < AVAILABLE_PCT else rows,
        advice=lambda: _advice(host, group),
        confidence=agreement(exceeds(stall, STALL_PCT), exceeds(filled, GROUP_PCT)),
    )


def _advice(host: HostView, group: CgroupLimits | None) -> Message:
    limit = None if group is None else group.memory_limit_kb
    if group is None or not limit:
        cause = Message("Memory is too small for the working set.")
        return sentences(cause, fewer_workers(host, swapping=False))
    cause = Message(
        "Memory is too small for the working set. Raise the {limit} MB limit of the control group of {server}.",
        limit=limit // 1024,
        server=owner(group),
    )
    return sentences(cause, fewer_workers(host, swapping=False, of=group.servers))


MEMORY = Verdict(
    name="memory",
    letter="M",
    title="memory",
    sentence="Memory is the limit",
    headline="is the limit",
    family=Family.MEMORY,
    explains=("disk", "cpu", "cpu-core", Family.POOL),
    of_host=_assess,
    titles={
        "memory.available_pct": "available",
        "memory.refaults_s": "refaults",
        "cgroup.memory_pct": "cgroup memory used",
    },
)


class Room(Struct, frozen=True):
    """``workers`` fit, of ``each_kb`` by ``basis`` (PSS, or RSS, which counts shared pages again and again)."""

    workers: int
    each_kb: float
    basis: Message
    free_kb: float


def worker_room(host: HostView, group: str) -> Room | None:
    """Room for processes of ``group`` beside what else runs, or in the control group where that is tighter; pages that
    were swapped out count as theirs. ``None`` where memory or processes are not known."""
    rates, sample = host.rates, host.sample
    known = None if rates is None else rates.group(group)
    memory = None if sample is None else sample.memory
    if known is None or not known.processes or sample is None or memory is None or memory.available_kb is None:
        return None
    held = float(known.pss_kb if known.pss_kb is not None else known.rss_kb)
    basis = Message("PSS") if known.pss_kb is not None else Message("RSS, an overestimate")
    swapped = 0 if sample.swap is None else sample.swap.total_kb - sample.swap.free_kb
    each = (held + swapped) / known.processes
    if each <= 0:
        return None
    free = USABLE * memory.available_kb
    cgroup = sample.cgroup_of(group)
    limit = None if cgroup is None else cgroup.memory_limit_kb
    if limit is not None:
        free = min(free, USABLE * limit - held)
    return Room(max(1, int((held + free) / each)), each, basis, max(0.0, free))


def room_for(host: HostView, group: str, now: int, wanted: int) -> Message:
    """Whether memory allows more workers than ``now``, and the ``wanted`` number where that is more."""
    room = worker_room(host, group)
    if room is None:
        return Message("Make sure that there is enough memory.")
    template = "Memory allows about {workers} in all: {each:.1f} MB each ({basis}), {free:.0f} MB usable."
    if room.workers < max(now, wanted):
        template = "But memory allows only about {workers} in all: {each:.1f} MB each ({basis}), {free:.0f} MB usable."
    elif room.workers > MUCH_ROOM * now:
        template = "Memory is sufficient: {each:.1f} MB each ({basis}), {free:.0f} MB usable."
    each, free = room.each_kb / 1024, room.free_kb / 1024
    return Message(template, workers=room.workers, each=each, basis=room.basis, free=free)


def fewer_workers(host: HostView, *, swapping: bool, of: Sequence[str] = ()) -> Message:
    """Advice if the workers need too much memory, with the number that fits if it is known; the workers ``of`` these
    groups of processes, or of any."""
    limit = _largest(host, of)
    room = worker_room(host, limit.group)
    setting: Parameter = limit.setting
    if isinstance(setting, str) and setting.startswith("--"):  # loadtop has options too
        setting = Message("{option} of {program}", option=setting, program=limit.group)
    figures: dict[str, Parameter] = {"setting": setting, "now": limit.now, "memory": _more_memory(host, limit.group)}
    if room is None or (limit.now is not None and room.workers >= limit.now):
        template = "Lower {setting} from {now}, or {memory}."
        if limit.now is None:
            template = "Lower {setting}, or {memory}."
        elif swapping:
            template = "Lower {setting} from {now} until swapping stops, or {memory}."
        return Message(template, **figures)
    template = (
        "Lower {setting} from {now} to about {workers}, or {memory}. Each process takes {each:.1f} MB ({basis}, "
        "swapped pages included)."
    )
    if limit.now is None:
        template = (
            "Lower {setting} to about {workers}, or {memory}. Each process takes {each:.1f} MB ({basis}, swapped "
            "pages included)."
        )
    return Message(template, workers=room.workers, each=room.each_kb / 1024, basis=room.basis, **figures)


def _more_memory(host: HostView, group: str) -> Message:
    """What else helps: the machine may have much memory, and only the control group of the server little."""
    sample = host.sample
    cgroup = None if sample is None else sample.cgroup_of(group)
    limit = None if cgroup is None else cgroup.memory_limit_kb
    total = None if sample is None or sample.memory is None else sample.memory.total_kb
    if limit is None or (total is not None and limit >= total):
        return Message("add memory")
    return Message("raise the control group's limit of {limit} MB", limit=limit // 1024)


def _largest(host: HostView, among: Sequence[str]) -> WorkerLimit:
    """The worker limit of the server whose processes take most memory, among these if one of them is there."""
    unknown = Message("the web server's worker limit")
    if host.rates is None:
        return WorkerLimit(unknown, "", None)
    memory = {group.group: group.rss_kb for group in host.rates.groups or ()}
    limits = [each.reading.worker_limit for known in host.rates.servers.values() for each in known]
    web = next((group.group for group in host.rates.of_role(Role.WEB)), "")
    return max(
        (limit for limit in limits if limit is not None),
        key=lambda limit: (limit.group in among, memory.get(limit.group, 0)),
        default=WorkerLimit(unknown, web, None),
    )
