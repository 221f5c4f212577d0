"""How much of a text from outside is taken: names of so many characters, tables of so many lines, numbers up to the
greatest there are. Beyond that, the rest is left out or refused."""

from collections.abc import Callable, Sized

import pytest

from collectors.apache import collector as apache
from collectors.errors import ParseError
from collectors.haproxy import collector as haproxy
from collectors.linux import cpu, devices, processes, sockets
from collectors.parsing import complete_lines, count, needed, pids
from collectors.php_fpm import status

HEAD = "Inter-| Receive\n face |bytes\n"


def disk(name: str) -> str:
    return f"8 0 {name} 1 2 30 4 5 6 70 8 9 10 11\n"


def interface(name: str) -> str:
    return f"{name}: 1 2 3 4 5 6 7 8 9 10 11 12\n"


def proxies(name: str) -> str:
    return haproxy.parse(f"# pxname,svname,qcur,scur,slim,stot\n{name},FRONTEND,0,0,0,0\n")[0].proxy


NAMES: tuple[tuple[Callable[[str], str], int], ...] = (
    (lambda name: devices.parse_disks(disk(name))[0].name, 64),
    (lambda name: devices.parse_networks(HEAD + interface(name))[0].name, 64),
    (lambda name: processes.parse_stat(f"7 ({name}) S {'1 ' * 22}\n").name, 64),
    (lambda name: apache.parse(f"ServerVersion: {name}\nScoreboard: _\n").version, 200),
    (lambda name: status.parse(f"pool: {name}\nprocess manager: static\naccepted conn: 1\n").pool, 200),
    (proxies, 200),
)
TABLES: tuple[tuple[Callable[[int], Sized], int], ...] = (
    (lambda number: list(complete_lines("x\n" * number)), 20_000),
    (lambda number: devices.parse_disks("".join(disk(f"sd{each}x") for each in range(number))), 1000),
    (lambda number: devices.parse_networks(HEAD + "".join(interface(f"e{n}") for n in range(number))), 1000),
    (lambda number: sockets.parse_listeners("".join(f"LISTEN 0 9 *:{n} *:*\n" for n in range(number))), 1000),
    (lambda number: cpu.parse("cpu 1 2 3 4\n" + "".join(f"cpu{n} 1 2 3 4\n" for n in range(number))).cores, 4096),
    (lambda number: pids(map(str, range(number))), 100_000),
)


@pytest.mark.parametrize(("named", "most"), NAMES)
def test_names(named: Callable[[str], str], most: int) -> None:
    assert named("x" * most) == named("x" * (most + 1)) == "x" * most


@pytest.mark.parametrize(("lines", "most"), TABLES)
def test_tables(lines: Callable[[int], Sized], most: int) -> None:
    assert (len(lines(most)), len(lines(most + 1))) == (most, most)


def test_a_scoreboard_has_as_many_slots_as_apache_can_have() -> None:
    assert len(apache.parse(f"Scoreboard: {'_' * 200_000}\n").scoreboard) == 200_000
    with pytest.raises(ParseError):
        apache.parse(f"Scoreboard: {'_' * 200_001}\n")


def test_a_port_has_16_bits() -> None:
    assert sockets.parse_listeners("LISTEN 0 9 *:65535 *:*\n")[0].port == 65_535
    with pytest.raises(ParseError, match="port of ss"):
        sockets.parse_listeners("LISTEN 0 9 *:65536 *:*\n")


def test_numbers_of_processes_have_ten_digits() -> None:
    assert pids(["9" * 10, "9" * 11, "7", "x", "٣"]) == {7, 10**10 - 1}
    assert pids(["1", "22"]) == {1, 22}
    assert pids([]) == frozenset()


def test_a_count_has_a_greatest_value() -> None:
    assert (count("7", "x", 7), needed({"a": 0}, "a", "x")) == (7, 0)
    with pytest.raises(ParseError, match="x: not a count: '8'"):
        count("8", "x", 7)
    with pytest.raises(ParseError, match="x has no b"):
        needed({"a": 0}, "b", "x")
