"""Interfaces that ``tc`` really shapes, in a network of their own: near, from the kernel, and far, from ``tc``. Few
kernels for containers have policers: what a remote ``tc`` says of them is what a real one printed."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from collectors.linux.machine import LinuxMachine
from collectors.linux.queueing import Interface, parse_disciplines
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import HostSample
from tests.loads.program import wait_until
from tests.servers.program import find_program
from tests.servers.sshd import Sshd, SshdFactory

pytestmark = pytest.mark.servers

ROOT = Path(__file__).resolve().parents[2]
SHAPED = """#!/bin/sh -e
ip link set lo up
ip link add eth7 type veth peer name eth8
ip link add eth9 type veth peer name eth10
tc qdisc add dev eth7 root tbf rate 20mbit burst 50000 limit 250000
tc qdisc add dev eth8 root handle 1: htb default 10
tc class add dev eth8 parent 1: classid 1:1 htb rate 50mbit quantum 1500
tc class add dev eth8 parent 1:1 classid 1:10 htb rate 5mbit ceil 12.5mbit quantum 1500
for name in eth7 eth8 eth9 eth10; do ip link set "$name" up; done
"""
BOTH = """
tc -s qdisc show
echo dev eth8
tc -s class show dev eth8
echo ours
exec "$0" -
"""
NEAR = """
import os
from collectors.transport.rtnetlink import disciplines
os.setgroups([])
os.setresuid(65534, 65534, 65534)  # who may not read the checkout, perhaps
print(disciplines(), end="")
"""
POLICED = ROOT / "tests" / "fixtures" / "tc" / "policers.txt"
TC = """#!/bin/sh
case "$*" in
    "-s qdisc show") sed "/^dev /,\\$d" FILE ;;
    "-s filter show dev va ingress") sed -n "/^dev va/,/^dev d0/p" FILE | grep -v "^dev " ;;
esac
"""
SHAPES = {"eth7": 20.0, "eth8": 12.5, "eth9": None, "eth10": None}


@pytest.fixture
def shaped(tmp_path: Path) -> Path:
    """A script that makes four interfaces, of which two are shaped, and then runs its arguments."""
    find_program("tc", install="apt-get install iproute2")
    path = tmp_path / "shaped"
    path.write_text(f'{SHAPED}exec "$@"\n')
    path.chmod(0o755)
    return path


def rates(interfaces: Mapping[str, Interface]) -> dict[str, set[tuple[str, str, str, float | None]]]:
    """All that does not change between two readings."""
    return {
        name: {(each.kind, each.handle, each.parent, each.mbit) for each in (*found.disciplines, *found.classes)}
        for name, found in interfaces.items()
    }


def test_any_user_can_read_the_output_of_tc(shaped: Path) -> None:
    command = ["unshare", "--net", str(shaped), "sh", "-c", BOTH, sys.executable]
    done = subprocess.run(command, input=NEAR, capture_output=True, text=True, check=True, cwd=ROOT)
    theirs, _, ours = done.stdout.partition("ours\n")
    told, read = parse_disciplines(theirs), parse_disciplines(ours)
    assert set(SHAPES) <= set(read)
    assert rates(told) == rates(read)


async def first_sample(server: Sshd) -> HostSample:
    transport = server.transport()
    await transport.connect()
    try:
        return await LinuxMachine(transport, KINDS).sample()
    finally:
        await transport.close()


async def test_a_remote_host(sshd: SshdFactory, shaped: Path) -> None:
    server = sshd(extra=f'ForceCommand unshare --net {shaped} sh -c "$SSH_ORIGINAL_COMMAND"')
    sample = await first_sample(server)
    assert {line.name: line.shaped_mbit for line in sample.networks or ()} == {"lo": None, **SHAPES}


@pytest.fixture
def server_elsewhere(shaped: Path, tmp_path: Path) -> Iterator[int]:
    """A process that looks like an nginx, in a network of its own with shaped interfaces."""
    nginx = tmp_path / "nginx"
    shutil.copy(find_program("sleep", install="apt-get install coreutils"), nginx)
    with subprocess.Popen(["unshare", "--net", shaped, nginx, "60"]) as process:
        name = Path(f"/proc/{process.pid}/comm")
        assert wait_until(lambda: name.read_text() == "nginx\n")
        yield process.pid
        process.kill()


@pytest.mark.parametrize("far", [False, True])
async def test_a_server_in_another_network(sshd: SshdFactory, server_elsewhere: int, far: bool) -> None:
    transport = sshd().transport() if far else LocalTransport()
    if isinstance(transport, SshTransport):
        await transport.connect()
    machine = LinuxMachine(transport, KINDS)
    try:
        for _ in range(3):
            await machine.sample()
        sample = await machine.sample()
    finally:
        await machine.close()
    assert server_elsewhere in machine.servers("nginx")
    found = {line.name: line.shaped_mbit for line in sample.networks or () if "@nginx" in line.name}
    assert found == {"eth7@nginx": 20.0, "eth8@nginx": 12.5}


async def test_policers_of_a_remote_host(sshd: SshdFactory, tmp_path: Path) -> None:
    tc = find_program("tc", install="apt-get install iproute2")
    (tmp_path / "tc").write_text(TC.replace("FILE", str(POLICED)))
    (tmp_path / "tc").chmod(0o755)
    shape = f"{tc} qdisc add dev vb root tbf rate 20mbit burst 50000 limit 250000"  # else no tc is started
    network = f'unshare --net sh -c "ip link add va type veth peer name vb; {shape}; $SSH_ORIGINAL_COMMAND"'
    server = sshd(extra=f"ForceCommand PATH={tmp_path}:$PATH {network}")
    sample = await first_sample(server)
    found = {line.name: (line.policed_mbit, line.policed_drops) for line in sample.networks or ()}
    assert found == {"lo": (None, None), "va": (20.0, 89), "vb": (None, None)}


async def test_perl_does_not_start_tc_where_nothing_can_be_limited(sshd: SshdFactory, tmp_path: Path) -> None:
    (tmp_path / "tc").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n')
    (tmp_path / "tc").chmod(0o755)
    network = 'unshare --net sh -c "ip link set lo up; $SSH_ORIGINAL_COMMAND"'
    server = sshd(extra=f"ForceCommand PATH={tmp_path}:$PATH {network}")
    sample = await first_sample(server)
    assert {line.name: line.shaped_mbit for line in sample.networks or ()} == {"lo": None}
    assert not (tmp_path / "asked").exists()
