"""What does not change while a machine runs: its name, system and kernel."""

from collectors.parsing import excerpt
from collectors.reading import Reading, Wanted
from loadtop.model import Cpu, HostFacts, Memory

HOSTNAME = "/proc/sys/kernel/hostname"
KERNEL = "/proc/sys/kernel/osrelease"
SYSTEM = "/etc/os-release"
FILES = (Wanted(HOSTNAME), Wanted(KERNEL), Wanted(SYSTEM))


def parse_system(os_release: str) -> str:
    """The system's name for people from the text of os-release (its manual page is os-release(5)), or ``Linux``."""
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "PRETTY_NAME" and value.strip("\"' "):
            return value.strip().strip("\"'")[:100]
    return "Linux"


def collect(reading: Reading, source: str, cpu: Cpu | None, memory: Memory | None) -> HostFacts:
    """A name that cannot be read is an empty string."""
    return HostFacts(
        hostname=_line(reading.optional(HOSTNAME)),
        source=source,
        system=parse_system(reading.optional(SYSTEM) or ""),
        kernel=_line(reading.optional(KERNEL)),
        cores=len(cpu.cores) or 1 if cpu else 1,
        memory_kb=memory.total_kb if memory else None,
        page_kb=reading.page_kb,
    )


def _line(text: str | None) -> str:
    line = (text or "").strip()
    return line if line.isprintable() and len(line) < 256 else excerpt(line)
