"""Policers at the ingress, from what a kernel 6.1 and ``tc`` of iproute2 6.1 really told (tests/fixtures/README.md)."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.linux.machine import SLOW_EVERY, LinuxMachine
from collectors.linux.queueing import QDISCS, parse_disciplines
from collectors.servers import KINDS
from collectors.transport import rtnetlink
from loadtop.model import Network
from tests.unit.collectors.texts import machine_of_texts

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "tc"
PRINTED = (FIXTURES / "policers.txt").read_text()
POLICERS = {
    "va": [("0x1", 20.0, 205_600, 89, 89), ("0x2", 5.0, 0, 0, 0)],
    "d0": [("0x4", 30.0, 0, 0, 0), ("0x3", 1000.0, 0, 0, 0)],
    "d1": [("0x8", None, 0, 0, 0), ("0x7", 9.0, 0, 0, 0), ("0x6", 8.0, 0, 0, 0)],  # the first counts packets
    "d2": [("0x4d", 44.0, 0, 0, 0)],
}


def policers(text: str) -> dict[str, list[tuple[str, float | None, int, int, int]]]:
    return {
        name: [(each.handle, each.mbit, each.sent_bytes, each.drops, each.overlimits) for each in found.policers]
        for name, found in parse_disciplines(text).items()
        if found.policers
    }


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel answered, to each request as it was made then."""
    told = json.loads((FIXTURES / "policers-netlink.json").read_text())
    answers = {(each["asked"], each["request"]): each["answers"] for each in told["exchanges"]}

    def messages(_: int, asked: int, request: bytes) -> Iterator[tuple[int, bytes]]:
        return iter([(kind, bytes.fromhex(answer)) for kind, answer in answers[asked, request.hex()]])

    monkeypatch.setattr(rtnetlink, "messages", messages)
    monkeypatch.setattr(
        socket, "if_nameindex", lambda: [(int(index), name) for index, name in told["interfaces"].items()]
    )


def test_as_tc_prints_them() -> None:
    assert policers(PRINTED) == POLICERS


@pytest.mark.usefixtures("kernel")
def test_as_the_kernel_tells_them() -> None:
    assert policers(rtnetlink.disciplines()) == POLICERS


async def interfaces(*texts: str) -> tuple[list[Network], int]:
    """eth0 in each of some samples, of which each finds another text, and how often the text was asked for."""
    transport: Any = machine_of_texts("6.18")
    machine = LinuxMachine(transport, KINDS)
    found: list[Network] = []
    for text in texts:
        transport.files[QDISCS] = text
        sample = await machine.sample()
        found += [each for each in sample.networks or () if each.name == "eth0"]
    return found, sum(QDISCS in [file.path for file in request.files] for request in transport.requests)


def seen(whole: int, first: int, second: int, exceeds: str = "drop") -> str:
    """Two policers of 20 and 5 Mbit/s and the bytes that each has seen, of all that arrived."""
    text = PRINTED.partition("dev d0\n")[0].replace("dev va", "dev eth0")
    text = text.replace("Sent 205836 bytes", f"Sent {whole} bytes")
    first_seen, _, rest = text.partition("Sent 205600 bytes 200 pkts (dropped 89, overlimits 89)")
    begin, between, end = rest.partition("\tSent 0 bytes")
    text = f"{first_seen}Sent {first} bytes 200 pkts (dropped 80, overlimits 89){begin}\tSent {second} bytes{end}"
    assert between
    return text.replace("2Kb action drop overhead", f"2Kb action {exceeds} overhead")


async def test_the_policer_that_sees_most_counts() -> None:
    """As of classes, by what it has seen since the reading before. What goes by them is not limited."""
    found, asked = await interfaces(
        seen(0, 0, 0), seen(100, 100, 0), seen(400, 110, 290), seen(1000, 120, 300), seen(1100, 210, 300)
    )
    assert [each.policed_mbit for each in found] == [20.0, 20.0, 5.0, None, None]
    assert [each.policed_drops for each in found] == [89, 89, 89, None, None]
    assert {each.shaped_mbit for each in found} == {None}
    assert asked == 4


@pytest.mark.parametrize(
    ("exceeds", "mbit"), [("drop", 20.0), ("reclassify", 20.0), ("drop/pipe", 20.0), ("pass", None), ("continue", None)]
)
async def test_only_what_drops_is_a_limit(exceeds: str, mbit: float | None) -> None:
    (found,), _ = await interfaces(seen(205_600, 205_600, 0, exceeds))
    assert found.policed_mbit == mbit


async def test_it_is_read_often_where_there_is_one() -> None:
    _, asked = await interfaces(*[seen(100, 100, 0)] * (SLOW_EVERY + 3))
    assert asked == SLOW_EVERY + 3


def test_a_text_without_end() -> None:
    text = "qdisc ingress ffff: dev va parent ffff:fff1\ndev va\n" + " police 0x1 rate 1Mbit action drop\n" * 30_000
    assert len(parse_disciplines(text)["va"].policers) == 4096
