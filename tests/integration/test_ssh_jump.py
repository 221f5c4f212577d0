"""A machine that is reached by way of another one (ProxyJump): watched as any other, and nothing stays on either."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from msgspec import Struct

from collectors.errors import TransportError
from collectors.host import HostCollector, remote_machine
from collectors.transport.ssh.transport import SshTransport
from tests.loads.program import started, wait_until
from tests.servers.sshd import Sshd, SshdFactory, put_ssh
from tests.servers.watched import until

JUMP = "jump"


class Way(Struct, frozen=True):
    """Two sshds, and the configuration of a client that reaches the second through the first."""

    jump: Sshd
    end: Sshd
    config: Path
    directory: Path

    def sessions(self) -> dict[str, list[str]]:
        """The command lines of what the connections of each sshd consist of."""
        return {each.alias: [line for _, line in _below(each.pid)] for each in (self.jump, self.end)}

    def through(self) -> list[int]:
        """The processes of the first sshd that hold a connection to the second one."""
        found: list[int] = []
        for pid, _ in _below(self.jump.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                if any(_port(link) == self.end.port for link in psutil.Process(pid).net_connections()):
                    found.append(pid)
        return found


def _port(link: object) -> int | None:
    return getattr(getattr(link, "raddr", None), "port", None)


def _below(pid: int) -> list[tuple[int, str]]:
    """Processes that a process has started, with their command lines; those that end meanwhile are left out."""
    found: list[tuple[int, str]] = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append((child.pid, " ".join(child.cmdline())))
    return found


def clients(config: Path) -> list[str]:
    """Every ssh of this machine that uses the configuration, the one towards the first machine too."""
    lines = (" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))
    return [line for line in lines if str(config) in line]


@pytest.fixture
def way(sshd: SshdFactory, tmp_path: Path) -> Way:
    jump, end = sshd(alias=JUMP), sshd()
    config = tmp_path / "ssh_config"
    last = end.config.read_text().rstrip()
    config.write_text(f"{jump.config.read_text()}\n{last}\n    ProxyJump {JUMP}\n")
    return Way(jump, end, config, tmp_path)


def gone(way: Way) -> bool:
    """Whether nothing of the connection is left there and there, nor here."""
    return wait_until(lambda: not any(way.sessions().values()) and not clients(way.config))


async def test_a_machine_behind_another_one(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way breaks once, and is found again; after the end nothing is left."""
    monkeypatch.setattr("collectors.transport.shell.transport.PAUSES_S", (0.1, 0.2))
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(way.config)))
    await transport.connect()
    host = HostCollector("web1", "target", remote_machine(transport), find_servers=False)
    await host.start(0.3)
    first = await until(host, lambda sample: bool(sample.processes))
    assert first.facts.source == "ssh://web1"
    assert any("eval" in line for line in way.sessions()["web1"])
    assert not any("eval" in line for line in way.sessions()[JUMP]), "nothing of ours runs on the way"
    (link,) = way.through()
    os.kill(link, signal.SIGKILL)
    for _ in range(300):
        if str(host.latest()[1]).startswith("no connection since"):
            break
        await asyncio.sleep(0.05)
    assert str(host.latest()[1]).startswith("no connection since")
    await until(host, lambda sample: sample.at > first.at + 0.5 and not host.latest()[1])
    assert way.through() != [link]
    await host.close()
    assert await asyncio.to_thread(gone, way)


@pytest.mark.parametrize("whom", ["loadtop", "ssh"])
def test_nothing_is_left_after_kill(way: Way, whom: str) -> None:
    words = ("watch", "--headless", "--no-record", "--host", "w=ssh://web1")
    with started(*words, env=put_ssh(way.directory, way.config)) as program:
        assert wait_until(lambda: any("perl" in line for line in way.sessions()["web1"]))
        before = way.through()
        assert len(before) == 1
        if whom == "loadtop":
            program.kill()
            assert gone(way)
        else:
            # The connection is made again after a second, over a new way; of the old one nothing is left.
            for child in psutil.Process(program.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            assert wait_until(lambda: not psutil.pid_exists(before[0]))
    assert gone(way)


def _unknown_key(way: Way) -> None:
    way.jump.known_hosts.write_text("")


def _wrong_key(way: Way) -> None:
    (way.jump.directory / "authorized_keys").write_text("")


def _nobody_there(way: Way) -> None:
    way.jump.stop()


TROUBLES = (
    (_unknown_key, "the host key of a jump host is unknown: check and accept it once with ssh web1"),
    (_wrong_key, "then check with ssh web1 true"),
    (_nobody_there, "nothing is listening on its SSH port"),
)


@pytest.mark.parametrize(("trouble", "words"), TROUBLES)
async def test_no_way_past_the_first_machine(way: Way, trouble: Callable[[Way], None], words: str) -> None:
    trouble(way)
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(way.config)))
    with pytest.raises(TransportError, match="ssh://web1: ") as error:
        await transport.connect()
    await transport.close()
    assert words in str(error.value)
    assert str(error.value).isprintable()
    assert not clients(way.config)


async def test_no_prompt_opens_a_window(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ssh that leads to the first machine knows nothing of the options of the other one."""
    asked, program = way.directory / "asked", way.directory / "askpass"
    program.write_text(f"#!/bin/sh\n: >{asked}\necho yes\n")
    program.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setenv("SSH_ASKPASS", str(program))
    way.jump.known_hosts.write_text("")
    text = way.config.read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask")
    way.config.write_text(text.replace("BatchMode yes", "BatchMode no"))
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(way.config)))
    with pytest.raises(TransportError, match="of a jump host is unknown"):
        await transport.connect()
    await transport.close()
    assert not asked.exists()
