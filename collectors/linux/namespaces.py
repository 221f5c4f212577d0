"""Whether two places share a network namespace.

Source: namespaces(7). An inode number names a namespace of one running kernel, and its boot id names that.
"""

from collections.abc import Mapping

from collectors.machine import Missing, Wanted, lines_of

NAMESPACES = Wanted("/proc/self/ns/")
BOOT_ID = Wanted("/proc/sys/kernel/random/boot_id")
FILES = (NAMESPACES, BOOT_ID)

Texts = Mapping[str, str | Missing]


def same_network(one: Texts, other: Texts) -> bool:
    """Whether both readings of :data:`FILES` are from the same network namespace; false if unknown."""
    return "" not in (network := _network(one)) and network == _network(other)


def _network(texts: Texts) -> tuple[str, str]:
    """The boot id and the name of the namespace; empty where it cannot be read."""
    boot = texts.get(BOOT_ID.path)
    return boot.strip() if isinstance(boot, str) else "", network_of(texts.get(NAMESPACES.path))


def network_of(links: str | Missing | None) -> str:
    """The name of the network namespace from the links in ``/proc/PID/ns/``; empty where they cannot be read."""
    return next((line for line in lines_of(links) if line.startswith("net:[")), "")
