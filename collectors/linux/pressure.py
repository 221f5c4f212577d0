"""Pressure stall totals (PSI) from /proc/pressure, or from the files of a control group in the same format.

Source: Linux, Documentation/accounting/psi.rst (4.20 and later; ``irq`` since 6.1). ``total`` is the stall in
microseconds since boot; the averages in the same lines lag by 10 s and more and are not read. The ``full`` line of cpu
means nothing for a whole machine and is left out.
"""

from collections.abc import Mapping
from functools import lru_cache

from collectors.errors import AbsentError, ParseError
from collectors.machine import NO_FILE, UNSUPPORTED, Missing, Reading, Wanted
from collectors.parsing import complete_lines, count
from loadtop.i18n import Message
from loadtop.model import Pressure

FILES = tuple(Wanted(f"/proc/pressure/{resource}") for resource in ("cpu", "memory", "io", "irq"))


def parse(cpu: str | None, memory: str | None, io: str | None, irq: str | None = None) -> Pressure:
    read = [_totals(text) if text is not None else dict[str, int]() for text in (cpu, memory, io, irq)]
    of_cpu, of_memory, of_io, of_irq = read
    return Pressure(
        cpu_some_us=of_cpu.get("some"),
        memory_some_us=of_memory.get("some"),
        memory_full_us=of_memory.get("full"),
        io_some_us=of_io.get("some"),
        io_full_us=of_io.get("full"),
        irq_full_us=of_irq.get("full"),
    )


def collect(reading: Reading) -> Pressure:
    texts = [reading.optional(wanted.path) for wanted in FILES]
    if texts[:3] == [None, None, None]:
        missing = reading.files.get(FILES[0].path)
        reason = missing.reason if isinstance(missing, Missing) else "not read"
        if reason == NO_FILE:
            raise AbsentError("no /proc/pressure: the kernel is older than 4.20 or built without PSI")
        if reason == UNSUPPORTED:
            raise AbsentError(
                "PSI is switched off in this kernel: boot it with psi=1",
                fix=Message('GRUB_CMDLINE_LINUX="psi=1"   (in /etc/default/grub; then update-grub and reboot)'),
            )
        raise AbsentError(Missing(reason).message)
    return parse(*texts)


@lru_cache(maxsize=1024)
def _totals(text: str) -> Mapping[str, int]:
    totals: dict[str, int] = {}
    for line in complete_lines(text):
        kind, *pairs = line.split() or [""]
        if kind not in ("some", "full"):
            raise ParseError(f"pressure: a line that begins with neither some nor full: {line[:40]!a}")
        total = next((pair[6:] for pair in pairs if pair.startswith("total=")), None)
        if total is None:
            raise ParseError(f"pressure: no total in the line {kind}")
        totals.setdefault(kind, count(total, f"pressure, total of {kind}"))
    if not totals:
        raise ParseError("pressure: no complete line")
    return totals
