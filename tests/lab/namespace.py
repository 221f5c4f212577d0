"""A network namespace for the generator, with a line of a given speed between it and this machine. Needs root."""

import contextlib
import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from msgspec import Struct

HERE, THERE = "10.213.77.1", "10.213.77.2"


class Namespace(Struct, frozen=True):
    """``launcher`` goes before what shall run there; ``address`` is this machine's, as seen from there."""

    name: str
    address: str
    line: str

    @property
    def launcher(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def setting(self, name: str, value: str) -> None:
        """Set a kernel parameter of the namespace, as ``sysctl -w`` would."""
        run("ip", "netns", "exec", self.name, "sysctl", "-qw", f"{name}={value}")

    def sent_bytes(self) -> int:
        """What went over the line to the generator so far."""
        return int(Path(f"/sys/class/net/{self.line}/statistics/tx_bytes").read_text())


@contextlib.contextmanager
def namespace(mbit: int | None = None) -> Generator[Namespace]:
    """A namespace behind a line of ``mbit`` Mbit/s towards it (``None``: as fast as it goes). Gone afterwards."""
    name, here, there = (f"{word}{os.getpid() % 100_000}" for word in ("lab", "vethh", "vetht"))
    with contextlib.ExitStack() as tidy:
        run("ip", "netns", "add", name)
        tidy.callback(run, "ip", "netns", "delete", name)
        run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
        tidy.callback(run, "ip", "link", "delete", here)  # the namespace alone would let go of it a moment later
        run("ip", "address", "add", f"{HERE}/30", "dev", here)
        run("ip", "link", "set", here, "up")
        for command in (f"address add {THERE}/30 dev {there}", f"link set {there} up", "link set lo up"):
            run("ip", "-n", name, *command.split())
        if mbit is not None:
            # A bucket of 20 ms, and a queue of 100 ms before packets are dropped.
            burst, queue = max(3000, mbit * 2500), max(30_000, mbit * 12_500)
            limit = f"tbf rate {mbit}mbit burst {burst} limit {queue}"
            run("tc", "qdisc", "add", "dev", here, "root", *limit.split())
        yield Namespace(name, HERE, here)


def run(*command: str) -> None:
    """Run a command as it is; fails the test where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"this test needs network namespaces, but {' '.join(command)}: {done.stderr}", pytrace=False)
