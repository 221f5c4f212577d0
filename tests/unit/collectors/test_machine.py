"""A machine with /proc, sampled through texts: what one bad file does, and what the others then tell."""

import pytest

from collectors.linux import sockets
from collectors.linux.machine import LinuxMachine
from collectors.machine import Endpoint, Missing
from collectors.servers import KINDS
from loadtop.model import HostSample, Listener, State
from tests.unit.collectors.texts import machine_of_texts, stat_text
from tests.unit.known import known

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


async def test_every_part_of_every_kernel(kernel: str) -> None:
    transport = machine_of_texts(kernel)
    transport.processes = {1: stat_text(1, "init"), 10: stat_text(10, "httpd")}
    sample = await LinuxMachine(transport, KINDS).sample()
    for name in ("cpu", "scheduler", "memory", "swap", "paging", "disks", "networks", "tcp", "processes"):
        assert getattr(sample, name) is not None, name
        assert outcome(sample, name) == (State.OK, "")
    assert (sample.pressure is not None) == (kernel not in ("2.6.32", "3.10", "4.18"))
    assert sample.at == transport.at


@pytest.mark.parametrize("reason", ["no such file", "not permitted"])
@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_cannot_be_read_leaves_out_its_part_only(name: str, reason: str) -> None:
    transport = machine_of_texts("5.10")
    transport.files[FILES[name]] = Missing(reason)
    sample = await LinuxMachine(transport, KINDS).sample()
    assert getattr(sample, name) is None
    assert outcome(sample, name) == (State.ABSENT, f"{FILES[name]}: {reason}")
    others = {other for other, path in FILES.items() if path != FILES[name]}
    assert all(getattr(sample, other) is not None for other in others)


@pytest.mark.parametrize("text", ["", "garbage\n", "c", "\x1b[2J\x00\n"])
@pytest.mark.parametrize("name", FILES)
async def test_a_file_full_of_something_else_is_a_failure(name: str, text: str) -> None:
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


async def test_tcp_reports_its_counters() -> None:
    transport = machine_of_texts("4.18")
    del transport.files[sockets.NETSTAT]
    sample = await LinuxMachine(transport, KINDS).sample()
    assert (known(sample.tcp).listen_overflows, known(sample.tcp).retransmits) == (None, 4404)
    for path in (sockets.SNMP, sockets.SOCKSTAT):
        del transport.files[path]
    sample = await LinuxMachine(transport, KINDS).sample()
    assert outcome(sample, "tcp") == (State.ABSENT, "/proc/net/netstat: no such file")


async def test_listeners_come_from_the_tables_where_there_is_nothing_better() -> None:
    transport = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    sample = await machine.sample()
    assert known(sample.tcp).listeners[0] == Listener(2024, 0, None)
    assert [set(sockets.TABLES) <= set(request.files) for request in transport.requests] == [False, True]
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
async def test_why_there_is_no_pressure(reason: str, said: str) -> None:
    transport = machine_of_texts("6.18")
    for name in ("cpu", "memory", "io"):
        transport.files[f"/proc/pressure/{name}"] = Missing(reason)
    state, text = outcome(await LinuxMachine(transport, KINDS).sample(), "pressure")
    assert state is State.ABSENT
    assert said in text


async def test_the_sockets_of_many_servers_are_read_once() -> None:
    """The kernel goes through all its sockets for that, and anybody can start sixty processes with a server's name."""
    transport = machine_of_texts("6.18")
    transport.files[sockets.held_by(range(10, 70)).path] = "10 socket:[1996868]\n"
    transport.files["@listening/proc/net/tcp"] = transport.files["/proc/net/tcp"]
    found = await LinuxMachine(transport, KINDS).listening(range(10, 70))
    assert found == {10: (Endpoint("127.0.0.1", 34973),)}
    asked = [wanted.path for request in transport.requests for wanted in request.files]
    assert len(asked) == 3
