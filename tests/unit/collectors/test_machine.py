"""A machine with /proc, sampled through texts: what one bad file does, and what the others then tell."""

from collections.abc import Callable
from typing import Any

import pytest

from collectors.linux import devices, sockets
from collectors.linux.machine import HOSTNAME, KERNEL, SLOW_EVERY, SYSTEM, LinuxMachine
from collectors.machine import Endpoint, Missing
from collectors.servers import KINDS
from loadtop.model import HostSample, Listener, State
from tests.unit.known import known

Build = Callable[[str], Any]
Stat = Callable[..., str]

FILES = {
    "cpu": "/proc/stat",
    "scheduler": "/proc/loadavg",
    "memory": "/proc/meminfo",
    "swap": "/proc/meminfo",
    "paging": "/proc/vmstat",
    "disks": "/proc/diskstats",
    "networks": "/proc/net/dev",
}


def outcome(sample: HostSample, name: str) -> tuple[State, str]:
    return next((found.state, str(found.reason)) for found in sample.outcomes if found.collector == name)


async def test_every_part_of_every_kernel(machine_of_texts: Build, kernel: str, stat_text: Stat) -> None:
    transport = machine_of_texts(kernel)
    transport.processes = {1: stat_text(1, "init"), 10: stat_text(10, "httpd")}
    sample = await LinuxMachine(transport, KINDS).sample()
    for name in ("cpu", "scheduler", "memory", "swap", "paging", "disks", "networks", "tcp", "processes"):
        assert getattr(sample, name) is not None, name
        assert outcome(sample, name) == (State.OK, "")
    assert (sample.pressure is not None) == (kernel not in ("2.6.32", "3.10", "4.18"))
    assert sample.at == transport.at


async def test_the_first_lines_of_facts(machine_of_texts: Build) -> None:
    transport = machine_of_texts("4.18")
    transport.files |= {
        HOSTNAME: "web1\n",
        KERNEL: "4.18.0\n",
        SYSTEM: 'NAME=x\nPRETTY_NAME="Red Hat 8"\n',
    }
    machine = LinuxMachine(transport, KINDS)
    sample = await machine.sample()
    assert (sample.facts.hostname, sample.facts.kernel, sample.facts.system) == ("web1", "4.18.0", "Red Hat 8")
    assert (sample.facts.cores, sample.facts.memory_kb, sample.facts.source) == (2, 16265624, "text")
    assert (await machine.sample()).facts is sample.facts
    assert HOSTNAME not in [wanted.path for wanted in transport.requests[1].files]


@pytest.mark.parametrize("reason", ["no such file", "not permitted"])
@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_cannot_be_read_leaves_out_its_part_only(
    machine_of_texts: Build, name: str, reason: str
) -> None:
    transport = machine_of_texts("5.10")
    transport.files[FILES[name]] = Missing(reason)
    sample = await LinuxMachine(transport, KINDS).sample()
    assert getattr(sample, name) is None
    assert outcome(sample, name) == (State.ABSENT, f"{FILES[name]}: {reason}")
    others = {other for other, path in FILES.items() if path != FILES[name]}
    assert all(getattr(sample, other) is not None for other in others)


@pytest.mark.parametrize("text", ["", "garbage\n", "c", "\x1b[2J\x00\n"])
@pytest.mark.parametrize("name", FILES)
async def test_a_file_full_of_something_else_is_a_failure(machine_of_texts: Build, name: str, text: str) -> None:
    transport = machine_of_texts("5.10")
    transport.files[FILES[name]] = text
    sample = await LinuxMachine(transport, KINDS).sample()
    if name == "disks" and not text:
        assert sample.disks == ()  # a container without any disk
        return
    state, reason = outcome(sample, name)
    assert getattr(sample, name) is None
    assert state is State.FAILED
    assert reason
    assert reason.isprintable()


async def test_tcp_reports_its_counters(machine_of_texts: Build) -> None:
    transport = machine_of_texts("4.18")
    del transport.files[sockets.NETSTAT]
    sample = await LinuxMachine(transport, KINDS).sample()
    assert (known(sample.tcp).listen_overflows, known(sample.tcp).retransmits) == (None, 4404)
    for path in (sockets.SNMP, sockets.SOCKSTAT):
        del transport.files[path]
    sample = await LinuxMachine(transport, KINDS).sample()
    assert outcome(sample, "tcp") == (State.ABSENT, "/proc/net/netstat: no such file")


async def test_listeners_come_from_the_tables_where_there_is_nothing_better(machine_of_texts: Build) -> None:
    transport = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    sample = await machine.sample()
    assert known(sample.tcp).listeners[0] == Listener(2024, 0, None)
    transport.files[sockets.LISTENERS] = "LISTEN 6 5 127.0.0.1:80 0.0.0.0:*\n"
    await machine.sample()
    sample = await machine.sample()
    assert known(sample.tcp).listeners == (Listener(80, 6, 5),)
    assert sockets.TABLES[0] not in transport.requests[-1].files


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("no such file", "older than 4.20 or built without PSI"),
        ("not supported", "psi=1"),
        ("not permitted", "not permitted"),
    ],
)
async def test_why_there_is_no_pressure(machine_of_texts: Build, reason: str, said: str) -> None:
    transport = machine_of_texts("6.18")
    for name in ("cpu", "memory", "io"):
        transport.files[f"/proc/pressure/{name}"] = Missing(reason)
    state, text = outcome(await LinuxMachine(transport, KINDS).sample(), "pressure")
    assert state is State.ABSENT
    assert said in text


async def test_slow_files_are_read_now_and_then_and_for_new_devices(machine_of_texts: Build) -> None:
    transport = machine_of_texts("5.10")
    transport.files |= {
        devices.line_files("enp1s0")[0].path: "10000\n",
        devices.BLOCKS: "../virtio/block/vda\n../zram0\n../loop0\n",
    }
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    sample = await machine.sample()
    assert [line.link_mbit for line in known(sample.networks)] == [None, 10000]
    for _ in range(SLOW_EVERY - 1):
        await machine.sample()
    read = [{wanted.path for wanted in request.files} for request in transport.requests]
    assert [index for index, paths in enumerate(read) if devices.BLOCKS in paths] == [0, 1]
    transport.files["/proc/net/dev"] = transport.files["/proc/net/dev"].replace("enp1s0", "enp2s0")
    transport.files[devices.line_files("enp2s0")[0].path] = "100\n"
    await machine.sample()
    sample = await machine.sample()
    assert known(sample.networks)[1].link_mbit == 100


async def test_where_a_server_listens(machine_of_texts: Build, stat_text: Stat) -> None:
    transport = machine_of_texts("6.18")
    transport.processes = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd", parent=10)}
    transport.files["/proc/10/fd/"] = "/dev/null\nsocket:[1996868]\npipe:[7]\nsocket:[1]\n"
    transport.files["@open/proc/net/tcp"] = transport.files["/proc/net/tcp"]
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    (pid,) = machine.servers("httpd")
    assert await machine.listening([pid]) == {pid: (Endpoint("127.0.0.1", 34973),)}
    del transport.files["/proc/10/fd/"]
    assert await machine.listening([pid]) == {}


async def test_the_sockets_of_many_servers_are_read_once(machine_of_texts: Build) -> None:
    """The kernel goes through all its sockets for that, and anybody can start sixty processes with a server's name."""
    transport = machine_of_texts("6.18")
    transport.files["/proc/10/fd/"] = "socket:[1996868]\n"
    transport.files["@open/proc/net/tcp"] = transport.files["/proc/net/tcp"]
    found = await LinuxMachine(transport, KINDS).listening(range(10, 70))
    assert found == {10: (Endpoint("127.0.0.1", 34973),)}
    asked = [wanted.path for request in transport.requests for wanted in request.files]
    assert asked.count("@open/proc/net/tcp") == 1


async def test_other_processes_that_are_hidden_are_named(machine_of_texts: Build) -> None:
    transport = machine_of_texts("6.18")
    transport.processes = Missing("not permitted")
    sample = await LinuxMachine(transport, KINDS).sample()
    assert sample.processes is None
    assert outcome(sample, "processes") == (State.ABSENT, "not permitted")
