"""Whatever a machine prints, a parser gives numbers or raises ParseError, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from collectors.apache import collector as apache
from collectors.errors import ParseError
from collectors.haproxy import collector as haproxy
from collectors.linux import cgroup, cpu, devices, memory, processes, sockets, unix_sockets
from collectors.machine import without_credentials
from collectors.mysql import collector as mysql
from collectors.nginx import collector as nginx
from collectors.php_fpm import status as fpm
from collectors.postgresql import collector as postgresql
from collectors.redis import collector as redis
from collectors.uwsgi import collector as uwsgi

Parser = Callable[[str], object]
FIXTURES = Path(__file__).parents[2] / "fixtures"

PARSERS: list[tuple[str, Parser, str]] = [
    ("cpu", cpu.parse, "proc/6.18/stat"),
    ("tasks", lambda text: cpu.parse_load("0.1 0.2 0.3\n", text), "proc/6.18/stat"),
    ("load", cpu.parse_load, "proc/6.18/loadavg"),
    ("memory", memory.parse, "proc/6.18/meminfo"),
    ("swap", memory.parse_swap, "proc/6.18/meminfo"),
    ("paging", lambda text: memory.parse_paging(text, 4), "proc/6.18/vmstat"),
    ("pressure", lambda text: memory.parse_pressure(text, text, text), "proc/6.18/pressure/io"),
    ("disks", devices.parse_disks, "proc/6.18/diskstats"),
    ("swaps", devices.parse_swap_devices, "proc/6.18/swaps"),
    ("blocks", devices.parse_blocks, "proc/6.18/swaps"),
    ("networks", devices.parse_networks, "proc/6.18/net/dev"),
    ("speed", devices.parse_speed, "proc/6.18/loadavg"),
    ("tcp", lambda text: sockets.parse_tcp(text, None, None), "proc/6.18/net/netstat"),
    ("snmp", lambda text: sockets.parse_tcp(None, text, None), "proc/6.18/net/snmp"),
    ("sockstat", lambda text: sockets.parse_tcp(None, None, text, None), "proc/6.18/net/sockstat"),
    ("sockstat6", lambda text: sockets.parse_tcp(None, None, None, text), "proc/6.18/net/sockstat6"),
    ("table", sockets.parse_table, "proc/6.18/net/tcp"),
    ("clients", lambda text: sockets.parse_clients(text, (80,), 5), "proc/6.18/net/tcp"),
    ("listeners", sockets.parse_listeners, "proc/6.18/ss-ltnH"),
    ("process", processes.parse_stat, "proc/6.18/httpd-stat"),
    ("pss", processes.parse_pss, "proc/6.18/httpd-smaps_rollup"),
    ("waits", processes.parse_schedstats, "proc/6.18/httpd-schedstats"),
    ("apache", apache.parse, "status/2.4.71-event.txt"),
    ("fpm", fpm.parse, "status/fpm-8.2.txt"),
    ("fpm json", fpm.parse, "status/fpm-8.2.json"),
    ("haproxy", haproxy.parse, "status/haproxy-2.6.csv"),
    ("nginx", nginx.parse, "status/nginx-1.22.txt"),
    ("uwsgi", uwsgi.parse, "status/uwsgi-2.0.json"),
    ("redis", lambda text: redis.parse(f"${len(text)}\r\n{text}\r\n:0\r\n"), "status/redis-7.0-info.txt"),
    ("mysql", mysql.parse, "status/mariadb-10.11.txt"),
    ("postgresql", postgresql.parse, "status/postgresql-15.txt"),
    ("unix", lambda text: sorted(unix_sockets.parse_unix(text)), "status/unix-sockets.txt"),
]
TEXTS = {name: (FIXTURES / recorded).read_text() for name, _, recorded in PARSERS}


def parsed(name: str, parse: Parser, text: str) -> Any:
    """What a parser makes of a text; ``None`` where it refuses it."""
    try:
        return parse(text)
    except ParseError:
        return None
    except Exception as error:
        error.add_note(f"by the parser of {name}")
        raise


@given(st.text())
def test_any_text(text: str) -> None:
    for name, parse, _ in PARSERS:
        parsed(name, parse, text)
    parsed("cgroup", cgroup.parse_membership, text)
    assert cgroup.parse_mounts(text) == ()


@given(
    place=st.floats(0, 1),
    lost=st.integers(0, 40),
    middle=st.text(max_size=20) | st.sampled_from(["-1", "9" * 25, "\n", " ", "\x00", "\x1b[2J", "٣"]),
)
def test_a_recorded_text_with_something_wrong_in_it(place: float, lost: int, middle: str) -> None:
    for name, parse, _ in PARSERS:
        text = TEXTS[name]
        start = round(place * len(text))
        parsed(name, parse, text[:start] + middle + text[start + lost :])


def fits(part: Any, whole: Any) -> bool:
    """Whether a part tells nothing that the whole does not."""
    if part is None or part == whole:
        return True
    if type(part) is not type(whole):
        return False
    if type(whole) in (tuple, list):
        return all(fits(part[index], whole[index]) for index in range(min(len(part), len(whole))))
    if type(whole) is dict:
        return all(key in whole and fits(value, whole[key]) for key, value in part.items())
    if type(whole) is frozenset:
        return bool(part <= whole)
    return isinstance(part, Struct) and all(
        fits(getattr(part, name), getattr(whole, name)) for name in part.__struct_fields__
    )


@pytest.mark.parametrize(("name", "parse"), [row[:2] for row in PARSERS], ids=[row[0] for row in PARSERS])
def test_cut_off_anywhere(name: str, parse: Parser) -> None:
    """What is cut off gives no number that is not in the whole text: what is missing is None or an error."""
    text = TEXTS[name].replace("allocstall_", "allocstall_of_zone_")  # added up, as far as there are any
    text = text.replace("_main_thread", "_thread")  # instead of the times of all threads, where there are any
    whole = parsed(name, parse, text)
    for end in range(len(text)):
        part = parsed(name, parse, text[:end])
        assert fits(part, whole), (text[:end], part)


@given(text=st.text(), scheme=st.sampled_from(["", "http://", "https://u:p@", "http://["]))
def test_any_text_as_a_url(text: str, scheme: str) -> None:
    url = apache.ApacheCollector.status_url(scheme + text)
    assert "auto" in url or url == scheme + text
    without_credentials(url)


@pytest.mark.parametrize("text", ["1_0", "+5", "-5", "٣", "0x10", "1.0", "", "9" * 30, str(2**63)])
def test_not_a_count(text: str) -> None:
    with pytest.raises(ParseError, match="not a count"):
        cpu.parse(f"cpu 1 2 3 {text or 'x'}\n")
