"""What shapes an interface, from texts as ``tc -s`` prints them: iproute2 6.1 for tbf and HTB, others composed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.linux.machine import SLOW_EVERY, LinuxMachine
from collectors.linux.queueing import QDISCS, Discipline, Interface, parse_disciplines, parse_rate
from collectors.machine import Missing
from collectors.servers import KINDS
from loadtop.model import Network
from tests.unit.collectors.texts import machine_of_texts

NOTHING_HELD = " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
PLAIN = f"qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1\n{NOTHING_HELD}"
TBF = (
    "qdisc tbf 800d: dev eth0 root refcnt 3 rate 20Mbit burst 50000b lat 80ms \n"
    " Sent 6386966 bytes 57575 pkt (dropped 17, overlimits 240 requeues 0) \n"
    " backlog 90840b 60p requeues 0\n"
)
HTB = (
    "qdisc htb 1: dev eth0 root refcnt 3 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000\n"
    " Sent {whole} bytes 9 pkt (dropped 5, overlimits 70 requeues 0) \n backlog 0b 3p requeues 0\n"
    "dev eth0\n"
    "class htb 1:10 parent 1:1 leaf 8002: prio 0 rate 5Mbit ceil 12500Kbit burst 1600b cburst 1600b \n"
    " Sent {first} bytes 9 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
    " lended: 0 borrowed: 0 giants: 0\n tokens: 40000 ctokens: 16000\n\n"
    "class htb 1:1 root rate 50Mbit ceil 50Mbit burst 1600b cburst 1600b \n"
    " Sent {whole} bytes 9 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
    "class htb 1:20 parent 1:1 prio 0 rate 5Mbit ceil 80Mbit burst 1600b cburst 1600b \n"
    " Sent {second} bytes 9 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
)
NETEM = (
    f"qdisc netem 1: dev eth0 root refcnt 2 limit 1000 delay 10ms\n{NOTHING_HELD}"
    f"qdisc tbf 10: dev eth0 parent 1:1 rate 1500Kbit burst 3000b lat 50ms\n{NOTHING_HELD}"
)
CAKE = f"qdisc cake 8004: dev eth0 root refcnt 2 bandwidth 30Mbit besteffort triple-isolate nonat\n{NOTHING_HELD}"
FREE_CAKE = CAKE.replace("30Mbit", "unlimited")
FQ = f"qdisc fq 8003: dev eth0 root refcnt 2 limit 10000p flow_limit 100p buckets 1024 maxrate 10Mbit\n{NOTHING_HELD}"
TREE = (
    f"qdisc prio 1: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2\n{NOTHING_HELD}"
    f"qdisc tbf 10: dev eth0 parent 1:1 rate 1Mbit burst 3000b lat 50ms\n{NOTHING_HELD}"
)
IN_ITSELF = f"qdisc tbf 1: dev eth0 root rate 9Mbit\nqdisc tbf 1: dev eth0 parent 1:1 rate 8Mbit\n{NOTHING_HELD}"
CLASSES_IN_EACH_OTHER = (
    f"qdisc htb 1: dev eth0 root\n{NOTHING_HELD}dev eth0\nclass htb 1:1 parent 1:2 ceil 5Mbit\n"
    "class htb 1:2 parent 1:1 ceil 4Mbit\nclass htb 1:3 parent 1:2 ceil 7Mbit\n"
)


@pytest.fixture
def transport() -> Any:
    return machine_of_texts("6.18")


async def interfaces(transport: Any, *texts: str | Missing) -> list[Network]:
    """eth0 in each of some samples, of which each finds another text."""
    machine = LinuxMachine(transport, KINDS)
    found: list[Network] = []
    for text in texts:
        transport.files[QDISCS] = text
        sample = await machine.sample()
        found += [each for each in sample.networks or () if each.name == "eth0"]
    return found


@pytest.mark.parametrize(
    ("text", "mbit"),
    [
        (PLAIN, None),
        (TBF, 20.0),
        (NETEM, 1.5),
        (NETEM.replace("delay 10ms", "delay 10ms rate 1Mbit"), 1.0),
        (CAKE, 30.0),
        (FREE_CAKE, None),
        (TREE, None),  # what else passes by there is not known
        (IN_ITSELF, 8.0),
        (CLASSES_IN_EACH_OTHER, 4.0),
        (TBF.replace("eth0", "eth1"), None),
        ("", None),
        (Missing("not available there"), None),
        ("sh: tc: not found\n", None),
        ("qdisc\nqdisc tbf\nclass htb\nclass htb 1: 2\nqdisc tbf 1: dev eth0 root rate\n", None),
        (TBF.replace("20Mbit", "0bit"), None),
        (TBF.replace("20Mbit", f"{'9' * 15}Tbit"), None),
    ],
)
async def test_the_rate_of_an_interface(transport: Any, text: str | Missing, mbit: float | None) -> None:
    (found,) = await interfaces(transport, text)
    assert found.shaped_mbit == mbit
    assert (found.queue_drops is None) == (mbit is None)


async def test_what_is_held_back(transport: Any) -> None:
    (found,) = await interfaces(transport, TBF)
    assert (found.queue_drops, found.queue_overlimits, found.queue_backlog) == (17, 240, 60)


async def test_the_class_that_sends_most_counts(transport: Any) -> None:
    """By what it has sent since the reading before. What goes by the classes is not shaped."""
    texts = [
        HTB.format(whole=whole, first=first, second=second)
        for whole, first, second in ((0, 0, 0), (100, 100, 0), (400, 110, 290), (1000, 120, 300), (1100, 210, 300))
    ]
    found = await interfaces(transport, *texts)
    assert [each.shaped_mbit for each in found] == [12.5, 12.5, 50.0, None, None]
    assert len([request for request in transport.requests if QDISCS in [file.path for file in request.files]]) == 4


async def test_classes_are_read_after_the_discipline_that_they_are_in(transport: Any) -> None:
    """What passes between the two has not gone by the classes."""
    texts = [
        HTB.format(whole=whole, first=first, second=0) for whole, first in ((0, 90), (90, 90), (200, 260), (260, 260))
    ]
    found = await interfaces(transport, *texts)
    assert [each.shaped_mbit for each in found] == [12.5] * 4


async def test_each_connection_has_the_rate_of_fq(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    transport.files[QDISCS] = FQ
    sample = await machine.sample()
    assert sample.tcp is not None
    assert sample.tcp.established
    line = next(each for each in sample.networks or () if each.name == "eth0")
    assert line.shaped_mbit == 10.0 * sample.tcp.established


@pytest.mark.parametrize(("text", "samples"), [(PLAIN, [1, 2, SLOW_EVERY + 3]), (TBF, list(range(1, SLOW_EVERY + 4)))])
async def test_it_is_read_often_only_where_there_is_any(transport: Any, text: str, samples: list[int]) -> None:
    await interfaces(transport, *[text] * (SLOW_EVERY + 3))
    asked = [QDISCS in [file.path for file in request.files] for request in transport.requests]
    assert [number for number, each in enumerate(asked, 1) if each] == samples


@pytest.mark.parametrize(
    ("text", "mbit"),
    [("20Mbit", 20), ("1500Kbit", 1.5), ("1Gbit", 1000), ("8bit", 8e-6), ("12.5Mbit", 12.5), ("1Mibit", 1.048576)]
    + [
        ("1Kibit", 2**10 / 1e6),
        ("1Gibit", 2**30 / 1e6),
        ("1Tibit", 2**40 / 1e6),
        ("10Tbit", 1e7),
        ("10000001Mbit", None),
    ]
    + [(text, None) for text in ("", "bit", "20", "-1Mbit", "1e9bit", "٣Mbit", "unlimited", f"{'1' * 16}bit")],
)
def test_rates(text: str, mbit: float | None) -> None:
    assert parse_rate(text) == mbit


def test_a_discipline_without_counters() -> None:
    """A line that is too short to name an interface ends nothing."""
    text = "qdisc tbf 1: dev eth0 root rate 1Mbit\nqdisc tbf 2: dev eth1\nclass htb 1:\n"
    (found,) = parse_disciplines(text).items()
    assert found == ("eth0", Interface((Discipline("tbf", "1:", "root", 1.0, 0, 0, 0, 0),)))


@given(st.lists(st.sampled_from([*(TBF + HTB + NETEM).split(" "), "\n", "dev", "root", "9" * 30])))
def test_any_text_is_read(words: list[str]) -> None:
    assert len(parse_disciplines(" ".join(words) + "\n")) <= 1


def test_a_table_without_end() -> None:
    text = "".join(f"qdisc tbf {number}: dev e{number} root rate 1Mbit\n" for number in range(30_000))
    assert len(parse_disciplines(text)) == 1000
    text = f"{HTB}dev eth0\n" + "class htb 1:1 root ceil 1Mbit\n" * 30_000
    assert len(parse_disciplines(text)["eth0"].classes) == 4096
