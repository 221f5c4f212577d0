"""Whole block devices with those that carry swap, and network interfaces with the speeds of their lines.

/proc/diskstats (Linux, Documentation/admin-guide/iostats.rst): sectors of 512 bytes, times in ms; discards since 4.18
and flushes since 5.5 are not read. /sys/block lists whole devices, not partitions; where it cannot be read, names do.
/proc/net/dev (net/core/net-procfs.c): eight columns received, eight sent; before 3.0 a name can touch its first number
(``eth0:123``). /sys/class/net/NAME/speed is -1 (on old kernels 4294967295 or 65535) where unknown. Of an interface
without a device behind it (its link in /sys/class/net leads to /sys/devices/virtual) the driver makes the speed up:
10000 for a veth, whatever its name in a container, 10 for tun and tap. Bonds, VLANs and macvlans pass on a device's.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from collectors.errors import ParseError
from collectors.machine import Wanted
from collectors.parsing import MOST_DEVICES, complete_lines, count_or_none, excerpt, row, short
from loadtop.model import Disk, Network

DISKSTATS = "/proc/diskstats"
SWAPS = "/proc/swaps"
BLOCKS = "/sys/block/"
DISK_FILES = (Wanted(DISKSTATS), Wanted(SWAPS, 16384))

_PARTITION = re.compile(
    r"(?P<disk>(?:sd|vd|xvd|hd)[a-z]{1,9}|(?:nvme\d{1,9}n|mmcblk|loop|nbd|md)\d{1,9}(?=p))p?\d{1,9}", re.ASCII
)
_LINE_LENGTH = 512  # 17 counters and a name
_WITHOUT_MEDIUM = re.compile(r"(?:loop|ram|zram|nbd|sr|fd)\d{1,9}", re.ASCII)

DEV = "/proc/net/dev"
NETWORK_FILES = (Wanted(DEV),)
INTERFACES = "/sys/class/net/"
_VIRTUAL = re.compile(r"/devices/virtual/net/(?P<name>[^/]{1,255})$")
_PASSES_ON = frozenset(("DEVTYPE=bond", "DEVTYPE=vlan", "DEVTYPE=macvlan"))
_UNKNOWN_SPEEDS = (0, 65535, 2**32 - 1)


def parse_disks(diskstats: str, swaps: str | None = None, blocks: frozenset[str] | None = None) -> tuple[Disk, ...]:
    """The whole devices, without those of memory, loops and empty drives that never did any I/O.

    ``swaps`` is the text of /proc/swaps, ``blocks`` the names of whole devices. A device counts as swap where it is
    itself a swap area, or where every partition of it that did any I/O is one.
    """
    areas = parse_swap_devices(swaps) if swaps is not None else frozenset[str]()
    disks: list[Disk] = []
    partitions: dict[str, list[Disk]] = {}
    for line in islice(complete_lines(diskstats), MOST_DEVICES):
        disk = _disk(short(line, _LINE_LENGTH))
        if disk is None:
            continue
        whole = _whole(disk.name, blocks)
        if whole != disk.name:
            partitions.setdefault(whole, []).append(disk)
        elif disk.reads or disk.writes or not _WITHOUT_MEDIUM.fullmatch(disk.name):
            disks.append(disk)
    if diskstats and "\n" not in diskstats:
        raise ParseError("/proc/diskstats has no complete line")

    def carries_swap(disk: Disk) -> bool:
        used = [each.name for each in partitions.get(disk.name, ()) if each.reads or each.writes]
        return disk.name in areas or (bool(used) and areas.issuperset(used))

    return tuple(replace(disk, swap=True) if carries_swap(disk) else disk for disk in disks)


@lru_cache(maxsize=64)
def parse_swap_devices(swaps: str) -> frozenset[str]:
    """Names (without /dev/) of the devices that are swap areas. Swap files are no devices; zram is one."""
    found: set[str] = set()
    for line in list(complete_lines(swaps))[1:]:
        words = line.split()
        if len(words) < 2:
            raise ParseError(f"/proc/swaps: unexpected line {excerpt(line)}")
        if words[1] == "partition" and words[0].startswith("/dev/"):
            found.add(words[0].removeprefix("/dev/"))
    return frozenset(found)


def parse_blocks(links: str) -> frozenset[str]:
    """Names of whole devices from the links in /sys/block; ``!`` there stands for the ``/`` in a name."""
    return frozenset(line.rpartition("/")[2].replace("!", "/") for line in complete_lines(links))


@lru_cache(maxsize=1024)
def _disk(line: str) -> Disk | None:
    words = line.split()
    if len(words) < 3:
        raise ParseError(f"/proc/diskstats: unexpected line {excerpt(line)}")
    if len(words) < 14:
        return None  # before 2.6.25 partitions had four counters only
    reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms = row(words[3:11], DISKSTATS)
    in_flight = count_or_none(words[11])
    return Disk(
        name=short(words[2]),
        reads=reads,
        read_kb=read_sectors // 2,
        read_ms=read_ms,
        writes=writes,
        write_kb=write_sectors // 2,
        write_ms=write_ms,
        in_flight=in_flight if in_flight is not None and in_flight < 2**31 else None,
        busy_ms=count_or_none(words[12]),
        queue_ms=count_or_none(words[13]),
    )


def _whole(name: str, blocks: frozenset[str] | None) -> str:
    if blocks is None:
        match = _PARTITION.fullmatch(name)
        return match["disk"] if match else name
    stem = name.rstrip("0123456789")
    return next((whole for whole in (name, stem, stem.removesuffix("p")) if whole in blocks), name)


def line_files(interface: str) -> tuple[Wanted, Wanted]:
    """The files that :func:`parse_speed` needs: the speed and the kind of device."""
    return Wanted(f"{INTERFACES}{interface}/speed"), Wanted(f"{INTERFACES}{interface}/uevent")


def parse_virtual(links: str) -> frozenset[str]:
    """Names of the interfaces without a device behind them, from where the links in /sys/class/net lead."""
    return frozenset(match["name"] for line in complete_lines(links) if (match := _VIRTUAL.search(line)))


def parse_networks(dev: str, link_mbit: Mapping[str, int | None] | None = None) -> tuple[Network, ...]:
    found: list[Network] = []
    lines = list(islice(complete_lines(dev), 2 + MOST_DEVICES))
    if len(lines) < 2 or "|" not in lines[0]:
        raise ParseError("/proc/net/dev has no two-line header")
    for line in lines[2:]:
        name, colon, rest = line.partition(":")
        columns = rest.split()
        if not colon or len(columns) < 12:
            raise ParseError(f"/proc/net/dev: unexpected line {excerpt(line)}")
        rx_bytes, rx_packets, rx_errors, rx_drops = row(columns[:4], DEV)
        tx_bytes, tx_packets, tx_errors, tx_drops = row(columns[8:12], DEV)
        counters = (rx_bytes, tx_bytes, rx_packets, tx_packets, rx_errors, tx_errors, rx_drops, tx_drops)
        name = short(name.strip())
        found.append(Network(name, *counters, (link_mbit or {}).get(name)))
    return tuple(found)


def parse_speed(speed: str, uevent: str = "", *, virtual: bool = False) -> int | None:
    """Mbit/s of a line, or ``None`` where the system does not know it (loopback, virtual interfaces, no cable)."""
    if virtual and _PASSES_ON.isdisjoint(complete_lines(uevent)):
        return None
    value = count_or_none(next(complete_lines(speed), "").strip())
    return None if value in _UNKNOWN_SPEEDS else value


def with_speed(networks: Iterable[Network], link_mbit: float) -> tuple[Network, ...]:
    """The same with this speed for all but loopback and those in another network namespace (``eth0@web``), whatever
    limits what they send and receive."""
    return tuple(
        network
        if network.name == "lo" or "@" in network.name
        else replace(network, link_mbit=link_mbit, shaped_mbit=None, policed_mbit=None)
        for network in networks
    )
