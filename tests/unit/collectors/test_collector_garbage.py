"""Whatever a machine prints, a parser gives numbers or raises ParseError, and nothing else."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.apache import collector as apache
from collectors.errors import ParseError
from collectors.linux import cpu, devices, memory, processes, sockets
from collectors.machine import without_credentials

Parser = Callable[[str], object]

PARSERS: list[tuple[str, Parser, str]] = [
    ("cpu", cpu.parse, "stat"),
    ("tasks", lambda text: cpu.parse_load("0.1 0.2 0.3\n", text), "stat"),
    ("load", cpu.parse_load, "loadavg"),
    ("memory", memory.parse, "meminfo"),
    ("swap", memory.parse_swap, "meminfo"),
    ("paging", lambda text: memory.parse_paging(text, 4), "vmstat"),
    ("pressure", lambda text: memory.parse_pressure(text, text, text, text), "pressure/io"),
    ("disks", devices.parse_disks, "diskstats"),
    ("swaps", devices.parse_swap_devices, "swaps"),
    ("blocks", devices.parse_blocks, "swaps"),
    ("networks", devices.parse_networks, "net/dev"),
    ("speed", devices.parse_speed, "loadavg"),
    ("tcp", lambda text: sockets.parse_tcp(text, None, None), "net/netstat"),
    ("snmp", lambda text: sockets.parse_tcp(None, text, None), "net/snmp"),
    ("sockstat", lambda text: sockets.parse_tcp(None, None, text, None), "net/sockstat"),
    ("sockstat6", lambda text: sockets.parse_tcp(None, None, None, text), "net/sockstat6"),
    ("table", sockets.parse_table, "net/tcp"),
    ("listeners", sockets.parse_listeners, "ss-ltnH"),
    ("process", processes.parse_stat, "httpd-stat"),
    ("pss", processes.parse_pss, "httpd-smaps_rollup"),
    ("apache", apache.parse, "2.4.71-event.txt"),
]

parsers = pytest.mark.parametrize(("parse", "recorded"), [row[1:] for row in PARSERS], ids=[row[0] for row in PARSERS])


@pytest.fixture(scope="session")
def text_of(proc: Callable[[str, str], str], status: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: status(name) if name.endswith(".txt") else proc("6.18", name)


@parsers
@given(text=st.text())
def test_any_text(parse: Parser, recorded: str, text: str) -> None:
    assert recorded
    with suppress(ParseError):
        parse(text)


@parsers
@given(data=st.data())
def test_a_recorded_text_with_something_wrong_in_it(
    text_of: Callable[[str], str], parse: Parser, recorded: str, data: st.DataObject
) -> None:
    text = text_of(recorded)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    middle = data.draw(
        st.one_of(st.text(max_size=20), st.sampled_from(["-1", "9" * 25, "\n", " ", "\x00", "\x1b[2J", "٣"]))
    )
    with suppress(ParseError):
        parse(text[:start] + middle + text[end:])


def fits(part: Any, whole: Any) -> bool:
    """Whether a part tells nothing that the whole does not."""
    if part is None or part == whole:
        return True
    if type(part) is not type(whole):
        return False
    if type(whole) in (tuple, list):
        return all(fits(part[index], whole[index]) for index in range(min(len(part), len(whole))))
    if type(whole) is frozenset:
        return bool(part <= whole)
    return is_dataclass(part) and all(
        fits(getattr(part, field.name), getattr(whole, field.name)) for field in fields(part)
    )


@parsers
def test_cut_off_anywhere(text_of: Callable[[str], str], parse: Parser, recorded: str) -> None:
    """What is cut off gives no number that is not in the whole text: what is missing is None or an error."""
    text = text_of(recorded)
    if recorded == "vmstat":
        text = text.replace("allocstall_", "allocstall_of_zone_")  # which are added up, as far as there are any
    whole = None
    with suppress(ParseError):
        whole = parse(text)
    for end in range(len(text)):
        with suppress(ParseError):
            part = parse(text[:end])
            assert fits(part, whole), (text[:end], part)


@given(text=st.text(), scheme=st.sampled_from(["", "http://", "https://u:p@", "http://["]))
def test_any_text_as_a_url(text: str, scheme: str) -> None:
    url = apache.ApacheCollector.status_url(scheme + text)
    assert "auto" in url or url == scheme + text
    without_credentials(url)


def test_a_number_cut_off_is_no_number() -> None:
    assert memory.parse("MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable: 7").available_kb is None
    with pytest.raises(ParseError):
        memory.parse("MemTotal: 100 kB\nMemFree: 5")


@pytest.mark.parametrize("text", ["1_0", "+5", "-5", "٣", "0x10", "1.0", "", "9" * 30, str(2**63)])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(ParseError, match="no count"):
        cpu.parse(f"cpu 1 2 3 {text or 'x'}\n")
