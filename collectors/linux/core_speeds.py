"""How fast each core is: its capacity beside that of the others, and its frequency beside the highest it can have.

/sys/devices/system/cpu/cpuN/cpu_capacity (Linux, Documentation/ABI/testing/sysfs-devices-system-cpu) is 1024 for the
largest cores, and less for others of Arm, RISC-V and hybrid machines. cpuN/cpufreq (Documentation/admin-guide/pm/
cpufreq.rst) has kHz; virtual machines rarely have it. Reading scaling_cur_freq can interrupt the core (on x86 before
Linux 5.18), so it is read now and then, and only where there is a highest frequency to compare it with.
"""

from collections.abc import Iterator

from collectors.machine import Reading, Wanted
from collectors.parsing import count_or_none
from loadtop.model import CoreSpeed, Cpu

CAPACITY, FREQUENCY, HIGHEST = "cpu_capacity", "cpufreq/scaling_cur_freq", "cpufreq/cpuinfo_max_freq"
MOST_CORES = 64  # cores that are looked at, the first ones: more would make a sample dear
FREQUENCY_EVERY = 5  # samples after which frequencies are read again

_MOST_KHZ = 10**9
_BYTES = 64


def speed_file(core: int, name: str) -> Wanted:
    return Wanted(f"/sys/devices/system/cpu/cpu{core}/{name}", _BYTES)


class CoreSpeeds:
    """The cores of one machine. Each sample determines which files the next one reads."""

    def __init__(self) -> None:
        self._cores: tuple[int, ...] = ()
        self._found: tuple[CoreSpeed, ...] = ()
        self._frequencies_in = 0
        self._asked = False

    def files(self, *, slow: bool) -> Iterator[Wanted]:
        """What the next sample is to read; ``slow``: also what hardly ever changes."""
        self._asked = False
        self._frequencies_in -= 1
        clocked = [speed.core for speed in self._found if speed.highest_khz]
        if clocked and self._frequencies_in <= 0:
            self._frequencies_in = FREQUENCY_EVERY
            self._asked = True
            yield from (speed_file(core, FREQUENCY) for core in clocked)
        if slow:
            self._asked = True
            yield from (speed_file(core, name) for core in self._cores for name in (CAPACITY, HIGHEST))

    def collect(self, reading: Reading, cpu: Cpu | None) -> tuple[CoreSpeed, ...]:
        """The speeds of the cores for which any value is known; the same object until something is read again."""
        if self._asked:
            before = {speed.core: speed for speed in self._found}
            now = (_updated(before.get(core, CoreSpeed(core)), reading) for core in self._cores)
            self._found = tuple(speed for speed in now if speed.capacity or speed.highest_khz)
        if cpu is not None:
            self._cores = tuple(core.id for core in cpu.cores[:MOST_CORES])
        return self._found


def _updated(speed: CoreSpeed, reading: Reading) -> CoreSpeed:
    """The known speeds, updated with this reading."""

    def value(name: str, known: int | None) -> int | None:
        text = reading.files.get(speed_file(speed.core, name).path)
        if text is None:
            return known
        return count_or_none(text.strip(), _MOST_KHZ) if isinstance(text, str) else None

    return CoreSpeed(
        speed.core,
        capacity=value(CAPACITY, speed.capacity),
        khz=value(FREQUENCY, speed.khz),
        highest_khz=value(HIGHEST, speed.highest_khz),
    )
