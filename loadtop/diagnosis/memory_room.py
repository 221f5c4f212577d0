"""How many worker processes the memory of a machine has room for."""

from dataclasses import dataclass

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
    basis: str
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
    basis = "PSS" if known.pss_kb is not None else "RSS, an over-estimate"
    swapped = 0 if sample.swap is None else sample.swap.total_kb - sample.swap.free_kb
    each = (held + swapped) / known.processes
    if each <= 0:
        return None
    free = USABLE * sample.memory.available_kb
    limit = None if sample.cgroup is None else sample.cgroup.memory_limit_kb
    if limit is not None:
        free = min(free, USABLE * limit - held)
    return Room(max(1, int((held + free) / each)), each, basis, max(0.0, free))


def room_for(host: HostView, group: str, now: int) -> str:
    """The end of an advice to have more than ``now`` workers: what memory says to that."""
    room = worker_room(host, group)
    if room is None:
        return ", as far as memory allows."
    each = f"{room.each_kb / 1024:.1f} MB each by {room.basis}"
    if room.workers > MUCH_ROOM * now:
        return f". Memory is no obstacle ({each}, {room.free_kb / 1024:.0f} MB free)."
    return f". Memory allows about {room.workers} ({each}, {room.free_kb / 1024:.0f} MB to be used)."


def fewer_workers(host: HostView) -> str:
    """What to do about too many workers for the memory, with the number that fits where it can be told."""
    limit = _largest(host)
    room = worker_room(host, limit.group)
    text = f"Lower {limit.setting}" + ("" if limit.now is None else f" from {limit.now}")
    if room is None or (limit.now is not None and room.workers >= limit.now):
        return f"{text} until nothing is swapped, or add memory."
    return (
        f"{text} to about {room.workers}, or add memory: {room.each_kb / 1024:.1f} MB each by {room.basis}, "
        "with what is swapped out."
    )


def _largest(host: HostView) -> WorkerLimit:
    """The limit of the workers that hold most memory on this host."""
    rates = host.rates
    readings = [each.reading for known in rates.servers.values() for each in known] if rates is not None else []
    limits = [reading.worker_limit for reading in readings]
    web = "" if rates is None else next((group.group for group in rates.of_role(Role.WEB)), "")
    unknown = WorkerLimit("the web server's worker limit", web, None)
    return max((limit for limit in limits if limit is not None), key=lambda limit: _held(host, limit), default=unknown)


def _held(host: HostView, limit: WorkerLimit) -> int:
    group = None if host.rates is None else host.rates.group(limit.group)
    return 0 if group is None else group.rss_kb
