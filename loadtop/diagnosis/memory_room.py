"""How many worker processes the memory of a machine has room for."""

from dataclasses import dataclass

from loadtop.i18n import Message
from loadtop.i18n.message import Parameter
from loadtop.model import Role
from loadtop.model.server import WorkerLimit
from loadtop.rates.measured import HostView

USABLE = 0.8
"""The part of the free memory that is given to more workers: the rest is for the page cache and everybody else."""

MUCH_ROOM = 20
"""Times the present number from which a number that memory allows is no help any more."""


@dataclass(frozen=True, slots=True)
class Room:
    """``workers`` fit, of ``each_kb`` by ``basis`` (PSS, or RSS, which counts shared pages again and again)."""

    workers: int
    each_kb: float
    basis: Message
    free_kb: float


def worker_room(host: HostView, group: str) -> Room | None:
    """Room for processes of ``group`` beside what else runs; pages that were swapped out count as theirs.

    A control group's limit counts where it is tighter than the machine. ``None`` where memory or processes are not
    known.
    """
    rates, sample = host.rates, host.sample
    known = None if rates is None else rates.group(group)
    if known is None or not known.processes or sample is None or sample.memory is None:
        return None
    if sample.memory.available_kb is None:
        return None
    held = float(known.pss_kb if known.pss_kb is not None else known.rss_kb)
    basis = Message("PSS") if known.pss_kb is not None else Message("RSS, an over-estimate")
    swapped = 0 if sample.swap is None else sample.swap.total_kb - sample.swap.free_kb
    each = (held + swapped) / known.processes
    if each <= 0:
        return None
    free = USABLE * sample.memory.available_kb
    limit = None if sample.cgroup is None else sample.cgroup.memory_limit_kb
    if limit is not None:
        free = min(free, USABLE * limit - held)
    return Room(max(1, int((held + free) / each)), each, basis, max(0.0, free))


def room_for(host: HostView, group: str, now: int) -> Message:
    """What memory says to more than ``now`` workers."""
    room = worker_room(host, group)
    if room is None:
        return Message("Go no further than memory allows.")
    figures: dict[str, Parameter] = {"each": room.each_kb / 1024, "free": room.free_kb / 1024}
    if room.workers > MUCH_ROOM * now:
        return Message(
            "Memory is no obstacle ({each:.1f} MB each by {basis}, {free:.0f} MB free).", basis=room.basis, **figures
        )
    return Message(
        "Memory allows about {workers} ({each:.1f} MB each by {basis}, {free:.0f} MB to be used).",
        workers=room.workers,
        basis=room.basis,
        **figures,
    )


def fewer_workers(host: HostView, *, swapping: bool) -> Message:
    """What to do about too many workers for the memory, with the number that fits where it can be told."""
    limit = _largest(host)
    room = worker_room(host, limit.group)
    if room is None or (limit.now is not None and room.workers >= limit.now):
        if limit.now is None:
            return Message("Lower {setting}, or add memory.", setting=limit.setting)
        if swapping:
            return Message(
                "Lower {setting} from {now} until nothing is swapped, or add memory.",
                setting=limit.setting,
                now=limit.now,
            )
        return Message("Lower {setting} from {now}, or add memory.", setting=limit.setting, now=limit.now)
    figures: dict[str, Parameter] = {"workers": room.workers, "each": room.each_kb / 1024, "basis": room.basis}
    if limit.now is None:
        return Message(
            "Lower {setting} to about {workers}, or add memory: {each:.1f} MB each by {basis}, with what is "
            "swapped out.",
            setting=limit.setting,
            **figures,
        )
    return Message(
        "Lower {setting} from {now} to about {workers}, or add memory: {each:.1f} MB each by {basis}, "
        "with what is swapped out.",
        setting=limit.setting,
        now=limit.now,
        **figures,
    )


def _largest(host: HostView) -> WorkerLimit:
    rates = host.rates
    readings = [each.reading for known in rates.servers.values() for each in known] if rates is not None else []
    limits = [reading.worker_limit for reading in readings]
    web = "" if rates is None else next((group.group for group in rates.of_role(Role.WEB)), "")
    unknown = WorkerLimit(Message("the web server's worker limit"), web, None)
    return max((limit for limit in limits if limit is not None), key=lambda limit: _held(host, limit), default=unknown)


def _held(host: HostView, limit: WorkerLimit) -> int:
    group = None if host.rates is None else host.rates.group(limit.group)
    return 0 if group is None else group.rss_kb
