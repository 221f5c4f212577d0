"""Traffic of each interface from /proc/net/dev, and line speeds from /sys/class/net/NAME/speed.

Source: Linux, net/core/net-procfs.c: eight columns received, eight sent. The name may touch its first number
(``eth0:123``), as kernels before 3.0 print it. ``speed`` is -1 (on old kernels 4294967295 or 65535) where unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from collectors.errors import ParseError
from collectors.machine import Wanted
from collectors.parsing import complete_lines, count_or_none, row
from loadtop.model import Network

DEV = "/proc/net/dev"
FILES = (Wanted(DEV),)
_MADE_UP = ("veth", "tun", "tap")
_UNKNOWN_SPEEDS = (0, 65535, 2**32 - 1)


def speed_file(interface: str) -> Wanted:
    return Wanted(f"/sys/class/net/{interface}/speed")


def parse(dev: str, link_mbit: Mapping[str, int | None] | None = None) -> tuple[Network, ...]:
    found: list[Network] = []
    lines = list(complete_lines(dev))
    if len(lines) < 2 or "|" not in lines[0]:
        raise ParseError("/proc/net/dev has no head of two lines")
    for line in lines[2:]:
        name, colon, rest = line.partition(":")
        columns = rest.split()
        if not colon or len(columns) < 12:
            raise ParseError(f"/proc/net/dev: no line of an interface: {line[:40]!a}")
        rx_bytes, rx_packets, rx_errors, rx_drops = row(columns[:4], DEV)
        tx_bytes, tx_packets, tx_errors, tx_drops = row(columns[8:12], DEV)
        counters = (rx_bytes, tx_bytes, rx_packets, tx_packets, rx_errors, tx_errors, rx_drops, tx_drops)
        found.append(Network(name.strip(), *counters, (link_mbit or {}).get(name.strip())))
    return tuple(found)


def parse_speed(speed: str) -> int | None:
    """Mbit/s of a line, or ``None`` where the system does not know it (loopback, virtual interfaces, no cable)."""
    value = count_or_none(next(complete_lines(speed), "").strip())
    return None if value in _UNKNOWN_SPEEDS else value


def assumed(networks: Iterable[Network], link_mbit: int) -> tuple[Network, ...]:
    """The same with this speed for lines that do not tell their own, or whose driver makes one up."""
    return tuple(
        replace(network, link_mbit=link_mbit)
        if network.name != "lo" and (network.link_mbit is None or network.name.startswith(_MADE_UP))
        else network
        for network in networks
    )
