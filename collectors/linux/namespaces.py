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
    names = (line for line in lines_of(texts.get(NAMESPACES.path)) if line.startswith("net:["))
    return boot.strip() if isinstance(boot, str) else "", next(names, "")
