"""What ``ss`` prints of connections, read as on a remote host without perl, and added up here."""

import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import ParseError
from collectors.linux import peers
from collectors.machine import Endpoint, Missing
from collectors.transport.shell import remote_clocks
from collectors.transport.shell.remote_clocks import RemoteClocks, parse
from collectors.transport.sock_diag import Connection
from tests.servers.program import find_program

PROGRAM = Path(remote_clocks.__file__).with_name("clocks.awk")
PRINTED = (Path(__file__).parents[2] / "fixtures/proc/6.18/ss-tnieH").read_text()
DATABASE = ip_address("10.9.0.2").packed, 3306


def told(printed: str, limit: int = 1 << 18) -> str:
    awk = find_program("awk", install="apt-get install mawk")
    words = [awk, "-v", f"limit={limit}", "-f", str(PROGRAM)]
    return subprocess.run(words, input=printed, capture_output=True, text=True, check=True, timeout=20).stdout


def test_the_output_of_ss() -> None:
    number, found, accepted = parse(told(PRINTED))
    here = ip_address("10.9.0.1").packed
    assert number == 8
    assert found[:4] == [
        Connection(here, 53022, *DATABASE, 33, 0, 0, 608, 604, 604, 1, 1),
        Connection(here, 53032, *DATABASE, 33, 0, 0, 272, 284, 228, 2, 3),
        Connection(here, 53038, *DATABASE, 0, 0, 0, 264, 264, 264, 0, 1),
        Connection(here, 53042, *DATABASE, 33, 0, 0, 252, 252, 252, 0, 0),
    ]
    assert accepted == {((ip_address(end).packed, 8080), 0) for end in ("127.0.0.1", "::1")}


def test_sums_over_readings() -> None:
    """Of the four connections to the database, one was answered, two were not, and one waits for a greeting."""
    clocks = RemoteClocks()
    assert clocks.due
    clocks.add(told(PRINTED))
    text = clocks.add(told(PRINTED))
    assert clocks.add(None) == text
    known = peers.parse(str(text))
    at = Endpoint("10.9.0.2", 3306)
    found = {each.user: each for each in known.asked if each.place == at}
    assert (found[33].connections, found[33].questions, found[33].age_ms, found[33].segments) == (6, 4, 1048, 4)
    assert (found[0].connections, found[0].questions, found[0].age_ms, found[0].segments) == (2, 2, 528, 1)
    assert known.readings == 2
    assert known.accepted[Endpoint("127.0.0.1", 8080)] == {0}


@pytest.mark.parametrize(
    "printed",
    [
        "Error: unknown option -H\n",
        "ss: not found\n",
        "ESTAB 0 0 10.9.0.1:53022 10.9.0.2:3306 uid:33 ino:1 sk:1\n",  # the kernel tells no clocks
    ],
)
def test_an_ss_that_does_not_tell(printed: str) -> None:
    text = RemoteClocks().add(told(printed))
    assert isinstance(text, Missing)
    assert "cannot read" in text.reason


def test_no_more_is_sent_than_the_limit() -> None:
    whole = told(PRINTED)
    assert len(told(PRINTED, limit=100)) < len(whole)
    assert parse(told(PRINTED, limit=100))[0] == 8


def test_many_connections_are_read_less_often() -> None:
    for number, due in ((100, True), (10_000, False)):
        clocks = RemoteClocks()
        clocks.add(f"connections {number}\n")
        assert clocks.due is due


def test_an_interface_beside_an_address() -> None:
    row = "> 127.0.0.1%lo:1 [fe80::1%eth0]:80 0 0 0 0 0 0 0 0\n"
    assert parse(f"connections 1\n{row}")[1][0].remote_address == ip_address("fe80::1").packed


def test_unrequested_files_stay_missing() -> None:
    assert RemoteClocks().add(Missing("no such file")) == Missing("no such file")


@given(st.text(alphabet="connetis <>0123456789.:[]%-\n", max_size=200))
def test_other_texts(text: str) -> None:
    for each in (text, f"connections 1\n{text}"):
        try:
            parse(each)
        except ParseError:
            continue
