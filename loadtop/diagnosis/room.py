"""How many worker processes the memory of a machine has room for."""

from dataclasses import dataclass

from loadtop.model import Group
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


def worker_room(host: HostView, group: Group) -> Room | None:
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


def room_for(host: HostView, group: Group, now: int) -> str:
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
    page = next(iter((host.rates.apache if host.rates else None) or ()), None)
    pool = next(iter((host.rates.fpm if host.rates else None) or ()), None)
    setting, group, now = "the web server's worker limit", Group.HTTPD, None
    if pool is not None and _larger(host):
        setting, group, now = "pm.max_children", Group.FPM, pool.pool.max_children or pool.pool.total
    elif page is not None:
        setting, now = "MaxRequestWorkers", page.capacity
    room = worker_room(host, group)
    text = f"Lower {setting}" + ("" if now is None else f" from {now}")
    if room is None or (now is not None and room.workers >= now):
        return f"{text} until nothing is swapped, or add memory."
    return (
        f"{text} to about {room.workers}, or add memory: {room.each_kb / 1024:.1f} MB each by {room.basis}, "
        "with what is swapped out."
    )


def _larger(host: HostView) -> bool:
    """Whether php-fpm holds more memory here than Apache."""
    rates = host.rates
    fpm = None if rates is None else rates.group(Group.FPM)
    httpd = None if rates is None else rates.group(Group.HTTPD)
    return fpm is not None and (httpd is None or fpm.rss_kb > httpd.rss_kb)
