"""A data disk, or what a control group may have of one: the server's own processes stand still until it answers.
Percent of time busy says little of a disk that serves many requests at once (man iostat), iowait and stalls little of
whose they are: what decides is how many of the requests in flight wait for it."""

from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds, owner
from loadtop.i18n import Message
from loadtop.model import OTHER, SERVICE, CgroupLimits, HostSample, Limited, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import DiskRates, HostRates, IoLimitRates

UTIL_PCT, UTIL_CLEAR_PCT = 95.0, 80.0  # percent with requests: PCP's perdisk 95, with waits; cleared at 80

AWAIT_MS = 20.0  # ms per request: Zabbix's 20
QUEUE = 2.0  # requests under way on average that count as a queue; our own (PCP: a queue that grows)

BLOCKED_SHARE, BLOCKED_CLEAR_SHARE = 0.4, 0.2  # part of the requests in flight that wait for a disk; our own

STALL_PCT = 10.0  # percent in which some task waited for I/O: check_psi's critical value of ``full``. A vote only


LIMIT_PCT, LIMIT_CLEAR_PCT = 90.0, 75.0
"""Percent of a control group's limit on a device that are used. Our own: the kernel lets a group have what it did not
use a moment before, so that a full limit is met to a few per cent."""

_SETTINGS = {
    Limited.READS: ("IOReadIOPSMax", "blkio.throttle.read_iops_device"),
    Limited.WRITES: ("IOWriteIOPSMax", "blkio.throttle.write_iops_device"),
    Limited.READ_BYTES: ("IOReadBandwidthMax", "blkio.throttle.read_bps_device"),
    Limited.WRITTEN_BYTES: ("IOWriteBandwidthMax", "blkio.throttle.write_bps_device"),
}
"""What sets each limit: the property of systemd.resource-control(5), and the file of version 1."""


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """A full disk or, if no disk is full, an I/O limit that a control group has reached."""
    disk, limit = _assess_disk(measured, host), _assess_limit(measured, host)
    if limit is not None and (disk is None or not disk.over) and (limit.over or limit.held):
        return limit
    return disk


def _assess_limit(measured: Measured, host: HostView) -> Assessment | None:
    """The server may not have more of a device: its requests wait before they reach the disk, which is idle then."""
    rates, sample = host.rates, host.sample
    if rates is None or sample is None:
        return None
    found = [(each, group) for group, known in host.control_groups() if known is not None for each in known.io]
    blocked = _blocked(rates, sample)
    if not found or blocked is None:
        return None
    limit, group = max(found, key=lambda each: each[0].percent)
    load = measured.load
    in_flight = None if load is None or load.in_flight is None else max(1, load.in_flight)
    most = _least(in_flight, BLOCKED_SHARE)
    stall = None if rates.pressure is None else rates.pressure.io_some
    return Assessment(
        over=limit.percent > LIMIT_PCT and blocked >= most,
        held=limit.percent > LIMIT_CLEAR_PCT and blocked >= _least(in_flight, BLOCKED_CLEAR_SHARE),
        evidence=(
            Row("cgroup.io_pct", limit.percent, LIMIT_PCT, "%", "cgroup: I/O limit (io.max)"),
            Row("blocked", blocked, most, "tasks", "loadtop: server processes that wait for a disk"),
            Row("pressure.io_some_pct", stall, STALL_PCT, "%", "check_psi; affects only the confidence"),
        ),
        advice=lambda: _limit_advice(limit, group, blocked),
        confidence=agreement(exceeds(stall, STALL_PCT)),
    )


def _limit_advice(limit: IoLimitRates, group: CgroupLimits, blocked: int) -> Message:
    template = (
        "Raise {setting} of the control group of {server}, or cache reads and write less often. {used:.0f} of "
        "{most:.0f} operations/s allowed on {disk} are used, and {blocked} requests are waiting."
    )
    used, most = limit.used, float(limit.most)
    if limit.limited in (Limited.READ_BYTES, Limited.WRITTEN_BYTES):
        template = (
            "Raise {setting} of the control group of {server}, or cache reads and write less often. {used:.0f} of "
            "{most:.0f} kB/s allowed on {disk} are used, and {blocked} requests are waiting."
        )
        used, most = used / 1024, most / 1024
    setting = _SETTINGS[limit.limited][0 if group.version == 2 else 1]
    return Message(
        template,
        setting=setting,
        server=owner(group),
        used=used,
        most=most,
        disk=limit.device,
        blocked=blocked,
    )


def _assess_disk(measured: Measured, host: HostView) -> Assessment | None:
    """A disk that does not carry swap is busy and slow, and the server waits for it."""
    rates, sample = host.rates, host.sample
    if rates is None or sample is None:
        return None
    disks = [disk for disk in rates.disks or () if not disk.swap and disk.util is not None]
    slowest = max(disks, key=lambda disk: (disk.util or 0.0) * (1.0 + (disk.queue or 0.0)), default=None)
    blocked = _blocked(rates, sample)
    if slowest is None or blocked is None:
        return None
    load = measured.load
    in_flight = None if load is None or load.in_flight is None else max(1, load.in_flight)
    most = _least(in_flight, BLOCKED_SHARE)
    util, waits = slowest.util or 0.0, slowest.await_ms or 0.0
    slow = waits >= AWAIT_MS or (slowest.queue or 0.0) >= QUEUE
    stall = None if rates.pressure is None else rates.pressure.io_some
    name = f"disk.{slowest.name}"
    return Assessment(
        over=util > UTIL_PCT and slow and blocked >= most,
        held=util > UTIL_CLEAR_PCT and blocked >= _least(in_flight, BLOCKED_CLEAR_SHARE),
        evidence=(
            Row(f"{name}.util_pct", util, UTIL_PCT, "%", "PCP perdisk: 95 % and waits"),
            Row(f"{name}.await_ms", waits, AWAIT_MS, "ms", "Zabbix: await over 20 ms"),
            Row("blocked", blocked, most, "tasks", "loadtop: server processes that wait for a disk"),
            Row("pressure.io_some_pct", stall, STALL_PCT, "%", "check_psi; affects only the confidence"),
        ),
        advice=lambda: _advice(slowest, blocked, in_flight),
        confidence=agreement(waits >= AWAIT_MS, exceeds(stall, STALL_PCT)),
    )


def _least(in_flight: int | None, share: float) -> int:
    return 2 if in_flight is None else max(1, round(share * in_flight))


def _blocked(rates: HostRates, sample: HostSample) -> int | None:
    """The number of the server's tasks that wait for a disk now. Of a threaded server only its first thread's state is
    listed: there it is the machine's count without the processes known to be others'."""
    groups = rates.of_role(Role.WEB, Role.APPLICATION)
    everywhere = None if sample.scheduler is None else sample.scheduler.blocked
    if not groups:
        return everywhere
    pooled = any(group.group != SERVICE for group in rates.of_role(Role.APPLICATION))
    threaded = not pooled and any(group.threads > 2 * group.processes for group in groups)
    if not threaded:
        return sum(group.blocked for group in groups)
    other = rates.group(OTHER)
    return None if everywhere is None else max(0, everywhere - (0 if other is None else other.blocked))


def _advice(disk: DiskRates, blocked: int, in_flight: int | None) -> Message:
    template = (
        "Cache reads, write less often, or use a faster disk. {blocked} requests wait for the disk {disk} (read "
        "{read:.0f} kB/s, write {write:.0f} kB/s, {operations:.0f} operations/s)."
    )
    if in_flight is not None:
        template = (
            "Cache reads, write less often, or use a faster disk. {blocked} of {in_flight} requests in flight wait "
            "for the disk {disk} (read {read:.0f} kB/s, write {write:.0f} kB/s, {operations:.0f} operations/s)."
        )
    figures = {"read": disk.read_kb, "write": disk.write_kb, "operations": disk.requests}
    return Message(template, blocked=blocked, in_flight=in_flight, disk=disk.name, **figures)


DISK = Verdict(
    name="disk",
    letter="D",
    title="disk",
    sentence="A disk is the limit",
    headline="is the limit",
    family=Family.STORAGE,
    whole_machine=True,
    explains=(Family.POOL,),
    of_host=_assess,
    titles={"blocked": "tasks waiting for a disk", "cgroup.io_pct": "I/O limit used"},
)
