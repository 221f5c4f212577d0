"""Numbers that no machine has, wherever a number can stand: the test continues, and what is shown stays finite."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors import parsing
from collectors.apache import collector as apache
from collectors.errors import ParseError, TransportError
from collectors.haproxy import collector as haproxy
from collectors.linux.machine import LinuxMachine
from collectors.machine import Request, Wanted
from collectors.mysql import collector as mysql
from collectors.nginx import collector as nginx
from collectors.php_fpm import status as php_fpm
from collectors.postgresql import collector as postgresql
from collectors.redis import collector as redis
from collectors.servers import KINDS
from collectors.transport.shell.frames import Kept, parse_frame, parse_pss, parse_remote
from collectors.uwsgi import collector as uwsgi
from loadtop.analysis.totals.totals import Totals
from loadtop.model import Frame, HostSample, HostState
from loadtop.pipeline.snapshot import Pipeline
from loadtop.recording.codec import decode, encode
from tests.unit.collectors.texts import machine_of_texts, stat_text

HOSTILE = (
    "0",
    "9" * 5001,
    "9" * 401,
    "9" * 19,
    str(2**63 - 1),
    str(2**63),
    "-1",
    "nan",
    "inf",
    "1e400",
    "1_000",
    "0x7f",
    "\N{ARABIC-INDIC DIGIT THREE}",
    "\N{FULLWIDTH DIGIT ONE}" * 3,
    "\N{SUPERSCRIPT TWO}",
    "",
)
NUMBER = re.compile(r"\d{1,19}", re.ASCII)

hostile = pytest.mark.parametrize("number", HOSTILE, ids=[ascii(number[:12]) for number in HOSTILE])


@hostile
async def test_a_machine_with_such_a_number_everywhere(number: str) -> None:
    """In every file at once, and in one column after the other: some lines stay whole then."""
    for column in (0, 1, 2, 5):
        transport = machine_of_texts("6.18")
        whole = dict(transport.files)
        processes = {1: stat_text(1, "init"), 10: stat_text(10, "apache2"), 11: stat_text(11, "x")}
        transport.processes = processes
        machine = LinuxMachine(transport, KINDS)
        samples = [await machine.sample()]
        transport.files.update({path: damaged(str(text), number, column) for path, text in whole.items()})
        transport.processes = {pid: damaged(text, number, column) for pid, text in processes.items()}
        transport.waits = {10: "10 5 7 3\n" + damaged("10 5 7 3\n", number, column)}
        samples += [await machine.sample(), await machine.sample()]
        assert shown(samples)


@given(data=st.data())
def test_the_largest_counters_side_by_side(data: st.DataObject) -> None:
    """Numbers that are in range can still make sums and products that are not."""
    values = st.sampled_from((0, 1, 2**31, 2**53 + 1, 2**63 - 1))
    texts = {
        "cpu": "cpu {} {} {} {} {} {} {} {} 0 0\ncpu0 {} {} {} {} {} {} {} {} 0 0\n",
        "disk": "8 0 sda {} {} {} {} {} {} {} {} {} {} {}\n",
    }
    filled = {name: text.format(*(data.draw(values) for _ in range(text.count("{}")))) for name, text in texts.items()}
    from collectors.linux import cpu, devices

    first = _sample(1.0, cpu.parse(filled["cpu"]), devices.parse_disks(filled["disk"]))
    again = {name: text.format(*(data.draw(values) for _ in range(text.count("{}")))) for name, text in texts.items()}
    second = _sample(2.0, cpu.parse(again["cpu"]), devices.parse_disks(again["disk"]))
    assert shown([first, second])


@hostile
def test_the_messages_of_a_remote_shell(number: str) -> None:
    """Where it is no number, or one out of range, the far side is refused or taken for an ordinary one."""
    try:
        far = parse_remote(f"{number} {number} perl\n")
    except TransportError:
        return
    assert 0 <= far.pid <= 2**31
    assert 1 <= far.page_kb <= 1024
    assert parse_remote(f"77 {number}\n").page_kb in range(1, 1025)


@hostile
def test_frames(number: str) -> None:
    request = Request((Wanted("/proc/loadavg"),), processes=True)
    kept = Kept()
    frame = (
        f"\n#m1f /proc/uptime\n5.25 5.0\n\n#m1l\n1 {number} 2\n#m1f {number}/stat\nx\n#m1f 2/stat\ny\n#m1=\n1 {number}"
    )
    reading, _ = parse_frame(frame, "m1", request, kept)
    assert {1, 2} <= reading.pids
    assert all(0 <= pid < 10**10 for pid in (*reading.pids, *kept.stats))
    assert all(0 <= pid <= 2**31 for pid in parse_pss(f"==> {number}/smaps_rollup <==\nPss: 5 kB\n"))
    with suppress(TransportError):
        reading, _ = parse_frame(f"\n#m2f /proc/uptime\n{number}.25 5.0\n", "m2", request, Kept())
        assert 0 <= reading.at < 10**13


@hostile
def test_pages(number: str) -> None:
    stub_status = (
        f"Active connections: {number} \nserver accepts handled requests\n {number} {number} {number} \n"
        f"Reading: {number} Writing: {number} Waiting: {number} \n"
    )
    counts = ("tcp_port", "connected_clients", "maxclients", "used_cpu_sys", "used_cpu_user")
    info = "redis_version:7\r\n" + "".join(f"{name}:{number}\r\n" for name in counts)
    status = "".join(f"{name}\t{number}\n" for name in ("Threads_connected", "Threads_running", "Uptime", "port"))
    pages: tuple[tuple[Callable[[str], object], str], ...] = (
        (apache.parse, f"Total Accesses: {number}\nUptime: {number}\nConnsTotal: {number}\nScoreboard: _W\n"),
        (php_fpm.parse, f'{{"pool": "www", "process manager": "static", "accepted conn": {number or 0}}}'),
        (php_fpm.parse, f"pool: www\nprocess manager: static\naccepted conn: {number}\n"),
        (haproxy.parse, f"# pxname,svname,qcur,scur,slim,stot\nweb,FRONTEND,{number},{number},{number},{number}\n"),
        (nginx.parse, stub_status),
        (redis.parse, f"${len(info)}\r\n{info}\r\n:{number}\r\n"),
        (mysql.parse, f"version\t8\n{status}"),
        (postgresql.parse, f"server_version\t15\nsessions\t{number}\nactive\t{number}\nport\t{number}\n"),
        (redis.parse, f"${number}\r\n{info}\r\n"),
        (uwsgi.parse, f'{{"workers": [{{"requests": {number or 0}, "cores": [{{"in_request": {number or 0}}}]}}]}}'),
    )
    for parse, page in pages:
        try:
            found = parse(page)
        except ParseError:
            continue
        assert len(json.dumps(str(found))) < 5000


@given(st.text())
def test_any_word_is_a_number_in_range_or_none(word: str) -> None:
    for most in (0, 65535, 2**63 - 1):
        value = parsing.count_or_none(word, most)
        assert value is None or 0 <= value <= most
    assert all(0 <= pid < 10**10 for pid in parsing.pids(word.split()))


def test_numbers_from_outside_pass_through_one_module() -> None:
    """``int`` and ``float`` take any number of digits, signs, and the digits of every script."""
    found = [
        f"{path}:{call.lineno}"
        for path in sorted(Path(parsing.__file__).parent.rglob("*.py"))
        if path.name not in ("parsing.py", "guard_process.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("int", "float")
    ]
    assert found == []


def damaged(text: str, number: str, column: int) -> str:
    """The text with this number as every fourth one of a line, from a column on."""

    def line(words: str) -> str:
        places = iter(range(10**6))
        return NUMBER.sub(lambda match: number if (next(places) - column) % 4 == 0 else match[0], words)

    return "".join(map(line, text.splitlines(keepends=True)))


def shown(samples: list[HostSample]) -> bool:
    """Everything that is made of samples: rates, diagnosis, the frame of a recording, and the summary."""
    pipeline, totals = Pipeline(), Totals("http://web1/")
    for frame in _frames(samples):
        snapshot = pipeline.snapshot(frame)
        totals.add(snapshot)
        assert decode(encode(frame)).hosts[0].name == "web1"
    json.dumps(totals.as_json(), allow_nan=False, default=str)
    return True


def _frames(samples: list[HostSample]) -> Iterator[Frame]:
    for number, sample in enumerate(samples, start=1):
        state = HostState("web1", "target", replace(sample, host="web1"), fresh=True)
        yield Frame(number=number, at=float(number), wall=1.8e9 + number, load=None, hosts=(state,), marks=())


def _sample(at: float, cpu: Any, disks: Any) -> HostSample:
    from loadtop.model import HostFacts

    return HostSample("", at, HostFacts("web1", "local", "Linux", "6.1", 1), 0.01, cpu=cpu, disks=disks)
