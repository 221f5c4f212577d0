"""Network namespaces as machines on one bridge, each with an sshd of its own. Needs root."""

import contextlib
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from msgspec import Struct

from tests.lab.namespace import run
from tests.servers.sshd import SshdFactory, put_ssh

NET = "10.213.78"


class Machine(Struct, frozen=True):
    """``launcher`` goes before what shall run there; ``place`` is where loadtop finds it."""

    name: str
    space: str
    address: str
    line: str

    @property
    def launcher(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.space)

    @property
    def place(self) -> str:
        return f"ssh://{self.name}"

    def cut(self) -> None:
        """Take its network away, without a word to anybody."""
        run("ip", "link", "set", self.line, "down")


@contextlib.contextmanager
def machines(names: Sequence[str]) -> Generator[list[Machine]]:
    """As many machines, gone afterwards."""
    number = os.getpid() % 100_000
    bridge = f"labb{number}"
    with contextlib.ExitStack() as tidy:
        run("ip", "link", "add", bridge, "type", "bridge")
        tidy.callback(run, "ip", "link", "delete", bridge)
        run("ip", "address", "add", f"{NET}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        found: list[Machine] = []
        for place, name in enumerate(names, 11):
            machine = Machine(name, f"lab{number}{name}", f"{NET}.{place}", f"labh{number}{place}")
            run("ip", "netns", "add", machine.space)
            tidy.callback(run, "ip", "netns", "delete", machine.space)
            run("ip", "link", "add", machine.line, "type", "veth", "peer", "name", "eth0", "netns", machine.space)
            tidy.callback(run, "ip", "link", "delete", machine.line)
            run("ip", "link", "set", machine.line, "master", bridge, "up")
            for command in (f"address add {machine.address}/24 dev eth0", "link set eth0 up", "link set lo up"):
                run("ip", "-n", machine.space, *command.split())
            found.append(machine)
        yield found


def give_sshd(sshd: SshdFactory, all_of: Sequence[Machine], directory: Path, extra: str) -> None:
    """Start an sshd on each; ``ssh`` in ``directory`` finds them by their names."""
    lines: list[str] = []
    for machine in all_of:
        server = sshd(alias=machine.name, launcher=machine.launcher, address=machine.address, extra=extra)
        lines.append(server.config.read_text())
    config = directory / "ssh_config"
    config.write_text("\n".join(lines))
    put_ssh(directory, config)
