"""Capacities and frequencies of cores of Arm and hybrid machines: when they are read, and what is kept."""

from typing import Any

import pytest

from collectors.linux.core_speeds import CAPACITY, FREQUENCY, FREQUENCY_EVERY, HIGHEST, MOST_CORES, speed_file
from collectors.linux.machine import LinuxMachine
from collectors.machine import Missing
from collectors.servers import KINDS
from loadtop.model import CoreSpeed
from tests.unit.collectors.texts import machine_of_texts


def texts(core: int, capacity: int, khz: int, highest: int) -> dict[str, str]:
    found = {CAPACITY: capacity, FREQUENCY: khz, HIGHEST: highest}
    return {speed_file(core, name).path: f"{value}\n" for name, value in found.items()}


@pytest.fixture
def transport() -> Any:
    """A large and a small core, as an Arm board has them."""
    built = machine_of_texts("6.18")
    built.files |= texts(0, 446, 600_000, 1_800_000) | texts(1, 1024, 2_400_000, 2_400_000)
    return built


def reads(transport: Any, name: str) -> list[int]:
    """The samples, from 1, that read such a file of some core."""
    samples = enumerate(transport.requests, 1)
    return [number for number, request in samples if any(file.path.endswith(name) for file in request.files)]


async def test_two_kinds_of_cores(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    found = [(await machine.sample()).core_speeds for _ in range(3)]
    assert found == [
        (),  # which cores there are is known after it
        (CoreSpeed(0, 446, None, 1_800_000), CoreSpeed(1, 1024, None, 2_400_000)),
        (CoreSpeed(0, 446, 600_000, 1_800_000), CoreSpeed(1, 1024, 2_400_000, 2_400_000)),
    ]


async def test_frequencies_are_read_now_and_then(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    for _ in range(3):
        await machine.sample()
    transport.files |= texts(0, 446, 1_800_000, 1_800_000)
    seen = [(await machine.sample()).core_speeds for _ in range(FREQUENCY_EVERY)]
    assert reads(transport, FREQUENCY) == [3, 3 + FREQUENCY_EVERY]
    assert reads(transport, CAPACITY) == reads(transport, HIGHEST) == [2]
    assert [speeds[0].khz for speeds in seen] == [*[600_000] * (FREQUENCY_EVERY - 1), 1_800_000]
    assert seen[0] is seen[1]


@pytest.mark.parametrize(
    "text", [Missing("no such file"), Missing("not supported"), "", "<unknown>\n", "-1\n", "9" * 30]
)
async def test_values_that_a_system_does_not_report(transport: Any, text: str | Missing) -> None:
    for core in (0, 1):
        transport.files[speed_file(core, FREQUENCY).path] = text
    transport.files[speed_file(0, CAPACITY).path] = text
    machine = LinuxMachine(transport, KINDS)
    found = [(await machine.sample()).core_speeds for _ in range(3)]
    assert found[2] == (CoreSpeed(0, None, None, 1_800_000), CoreSpeed(1, 1024, None, 2_400_000))


@pytest.mark.parametrize("capacity", [None, 446])
async def test_a_machine_without_frequencies_is_not_read_for_them(capacity: int | None) -> None:
    transport = machine_of_texts("6.18")
    known = () if capacity is None else (CoreSpeed(0, capacity),)
    transport.files |= {speed_file(speed.core, CAPACITY).path: f"{speed.capacity}\n" for speed in known}
    machine = LinuxMachine(transport, KINDS)
    found = [(await machine.sample()).core_speeds for _ in range(2 * FREQUENCY_EVERY)]
    assert found == [(), *[known] * (2 * FREQUENCY_EVERY - 1)]
    assert reads(transport, FREQUENCY) == []


async def test_only_the_first_cores_of_a_large_machine_are_read() -> None:
    transport = machine_of_texts("6.18")
    first = str(transport.files["/proc/stat"]).splitlines()[0]
    cores = [f"cpu{number} 1 0 1 1 0 0 0 0 0 0" for number in range(4 * MOST_CORES)]
    transport.files["/proc/stat"] = "\n".join([first, *cores, ""])
    for number in range(4 * MOST_CORES):
        transport.files |= texts(number, 1024, 1_000_000, 3_000_000)
    machine = LinuxMachine(transport, KINDS)
    found = [(await machine.sample()).core_speeds for _ in range(3)][-1]
    assert [speed.core for speed in found] == list(range(MOST_CORES))
