"""The speed of lines: what the kernel reports of a real one, and what the user says."""

import pytest

from collectors.linux.devices import parse_speed, parse_virtual, with_speed
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.hosts import link_speed
from loadtop.cli.options.command_line import parse
from loadtop.model import Network

URL = ("-n", "1", "http://127.0.0.1/")


def test_what_the_user_says_holds_for_every_line_of_its_network_but_loopback() -> None:
    read = [("eth0", 1000), ("eth1", None), ("veth3", 10_000), ("lo", None), ("eth0@nginx", None)]
    lines = [Network(name, 0, 0, 0, 0, link_mbit=speed) for name, speed in read]
    assert [line.link_mbit for line in with_speed(lines, 20)] == [20, 20, 20, None, None]


def test_interfaces_without_a_device_are_known_by_their_links() -> None:
    links = (
        "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0\n"
        "../../devices/virtual/net/lo\n../../devices/virtual/net/eth1\n/sys/class/net/bonding_masters\n"
    )
    assert parse_virtual(links) == {"lo", "eth1"}


@pytest.mark.parametrize(
    ("uevent", "virtual", "speed"),
    [
        ("INTERFACE=eth0\nIFINDEX=2\n", False, 10_000),
        ("INTERFACE=eth0\nIFINDEX=17\n", True, None),  # a veth, renamed in its container
        ("DEVTYPE=bridge\nINTERFACE=docker0\nIFINDEX=3\n", True, None),
        ("DEVTYPE=bond\nINTERFACE=bond0\nIFINDEX=3\n", True, 10_000),
        ("DEVTYPE=vlan\nINTERFACE=eth0.7\nIFINDEX=3\n", True, 10_000),
    ],
)
def test_a_driver_without_a_device_makes_its_speed_up(uevent: str, virtual: bool, speed: int | None) -> None:
    assert parse_speed("10000\n", uevent, virtual=virtual) == speed


def test_a_speed_is_of_one_host_or_of_all() -> None:
    assert parse(["run", "--link", "100", *URL]).links == [("", 100)]
    hosts = ["--host", "web=local", "--host", "db=ssh://db"]
    assert parse(["run", *hosts, "--link", "100", "--link", "db:20", *URL]).links == [("", 100), ("db", 20)]
    assert parse(["run", *URL]).links == []


@pytest.mark.parametrize(
    ("words", "speeds"),
    [
        ((), (None, None)),
        (("100",), (100, 100)),
        (("100", "200"), (200, 200)),
        (("db:20", "100"), (100, 20)),
        (("100", "db:20", "db:1.5"), (100, 1.5)),
        (("web:0.5",), (0.5, None)),
    ],
)
def test_the_speed_of_one_host_counts_before_that_of_all(words: tuple[str, ...], speeds: tuple[float, float]) -> None:
    options = [f"--link={word}" for word in words]
    links = parse(["run", "--host", "web=local", "--host", "db=ssh://db", *options, *URL]).links
    found = tuple(link_speed(links, name) for name in ("web", "db"))
    assert found == speeds
    assert [type(speed) for speed in found] == [type(speed) for speed in speeds]  # 100 is shown without .0


@pytest.mark.parametrize("link", ["fast", "web:fast", "0", "-1", "db:20"])
def test_a_speed_that_cannot_be_is_refused(link: str) -> None:
    with pytest.raises(UsageError, match="--link"):
        parse(["run", "--host", "web=local", f"--link={link}", *URL])
