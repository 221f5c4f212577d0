"""Every parser of data from outside, as a fuzzer drives it.

A target takes any bytes. It may raise the errors that its parser documents, which are ``refused`` here, and nothing
else. It may take :data:`MOST_S` of CPU time, however the bytes are chosen. Where something must hold of what is
parsed, the target asserts it.
"""

import asyncio
import json
import sqlite3
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from msgspec import Struct

from collectors import host_names, routing
from collectors.apache import collector as apache
from collectors.apache import configuration as apache_configuration
from collectors.blocking import blocking
from collectors.config_files import Config, IncludeOf, includes, read_config
from collectors.errors import AbsentError, FetchError, ParseError, TransportError
from collectors.haproxy import collector as haproxy
from collectors.haproxy import configuration as haproxy_configuration
from collectors.linux import cgroup, cpu, devices, locks, memory, peers, processes, profile, queueing, sockets
from collectors.linux.unix_sockets import parse_streams, parse_unix
from collectors.machine import Missing, Page, Request, Wanted
from collectors.mysql import collector as mysql
from collectors.nginx import collector as nginx
from collectors.nginx import configuration as nginx_configuration
from collectors.php_fpm import configuration as fpm_configuration
from collectors.php_fpm import status as fpm
from collectors.postgresql import account as postgresql_account
from collectors.postgresql import collector as postgresql
from collectors.redis import collector as redis
from collectors.transport.exec.failures import explain as explain_command
from collectors.transport.shell import frames, remote_clocks
from collectors.transport.ssh.failures import explain
from collectors.transport.status_client import read_response
from collectors.uwsgi import collector as uwsgi
from collectors.uwsgi import configuration as uwsgi_configuration
from loadtop.analysis.experiment.plan import ExperimentPlan
from loadtop.analysis.totals.totals import Totals
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.experiment_plan import read_plan
from loadtop.engines.jmeter.result_file import ResultReader, Results
from loadtop.engines.output import LineSplitter
from loadtop.engines.terminal import Screen
from loadtop.engines.tools import TOOLS, reader_of_line
from loadtop.i18n import plain
from loadtop.i18n.outside import printable
from loadtop.model import Frame
from loadtop.model.secrets import url_without_secrets, without_secrets
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording import codec
from loadtop.recording.container import SessionError, SessionMeta, create
from loadtop.recording.player import Recomputation
from loadtop.recording.reader import Session, result_of
from loadtop.reports import text as text_report
from loadtop.reports.ab import ab_report
from loadtop.reports.export.sar import sar
from loadtop.reports.export.tables import json_lines
from loadtop.reports.html import html
from loadtop.reports.tables import markdown
from tests.fuzz import responses

MOST_S = 0.05
FIXTURES = Path(__file__).parents[1] / "fixtures"
CORPUS = FIXTURES / "fuzz"


class SlowError(Exception):
    """An input takes longer than :data:`MOST_S`."""


class FuzzTarget(Struct, frozen=True):
    """``like`` are patterns of files in ``tests/fixtures`` that its parser reads."""

    name: str
    run: Callable[[bytes], object]
    refused: tuple[type[Exception], ...] = ()
    like: tuple[str, ...] = ()
    most_s: float = MOST_S

    @property
    def corpus(self) -> Path:
        """Where its inputs are: those it began with, and those that showed a fault."""
        return CORPUS / self.name

    def inputs(self) -> Iterator[bytes]:
        for path in sorted(each for pattern in self.like for each in FIXTURES.glob(pattern)):
            yield path.read_bytes()
        for path in sorted(self.corpus.glob("*")):
            yield path.read_bytes()

    def __call__(self, data: bytes) -> None:
        """Feed one input. Raises where the parser is wrong, or too slow three times in a row."""
        took = 0.0
        for _ in range(3):
            began = time.process_time()
            with suppress(*self.refused):
                self.run(data)
            took = time.process_time() - began
            if took <= self.most_s:
                return
        raise SlowError(f"{took:.2f} s")


def _texts(*parsers: Callable[[str], object]) -> Callable[[bytes], None]:
    """Give the text to each parser."""

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for parse in parsers:
            with suppress(ParseError):
                parse(text)

    return run


def _status_page(data: bytes) -> None:
    async def read() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        await read_response(reader)

    asyncio.run(read())


def _configurations(data: bytes) -> None:
    config = Config(("/a",), lines=data.decode("utf-8", "replace").split("\n"))
    for parse in (apache_configuration.parse, haproxy_configuration.parse, fpm_configuration.parse):
        parse(config.lines)
    for kind in (apache_configuration, nginx_configuration):
        kind.listening(config)
        kind.fastcgi_addresses(config)
    for routes in (nginx_configuration.routes, haproxy_configuration.routes):
        routes(config)
    uwsgi_configuration.parse("/a/b.ini", uwsgi_configuration.options_of(config.lines))


class _Files:
    """A machine whose files include each other: the pieces of one input."""

    def __init__(self, text: str) -> None:
        self._files = {f"/etc/{number}.conf": part for number, part in enumerate(text.split("\f")[:9])}

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        return {file.path: self._text(file.path) for file in files}

    def _text(self, path: str) -> str | Missing:
        if path.endswith("/"):
            return "".join(f"{name}\n" for name in self._files)
        return self._files.get(path, Missing("no such file"))


def _includes(data: bytes) -> None:
    files = _Files(data.decode("utf-8", "replace"))
    ways: tuple[IncludeOf, ...] = (
        includes(apache_configuration.INCLUDE, "/etc"),
        includes(nginx_configuration.INCLUDE, "/etc"),
        fpm_configuration.include_of("/etc/0.conf"),
    )
    for include_of in ways:
        asyncio.run(read_config(files, ("/etc/0.conf",), include_of))


def _remote(data: bytes) -> None:
    text, mark = data.decode("utf-8", "replace"), "mark"
    request = Request(tuple(map(Wanted, ("/proc/loadavg", "/proc/none", "/sys/block/", sockets.LISTENERS))))
    for parse in (frames.parse_remote, frames.parse_looked, frames.parse_pss, frames.parse_resolved):
        with suppress(TransportError):
            parse(text)
    with suppress(TransportError):
        frames.parse_frame(frames.cut_out(data, mark), mark, request, frames.Kept())
    first, *rest = text.split("\n")
    explain("ssh://web1", rest, len(first) % 300, first)
    explain_command(("docker", "exec"), rest, len(first) % 300, first)
    host_names.in_hosts(text, "web1")
    routing.own_addresses(text, text)


def _redis(data: bytes) -> None:
    """The whole answer, and the INFO in it."""
    for answer in (data, b"$%d\r\n%b\r\n" % (len(data), data)):
        with suppress(AbsentError):
            redis.parse_page(Page("127.0.0.1:6379", 200, answer.decode("latin-1"), 0.0))


def _fastcgi(data: bytes) -> None:
    _, body = fpm.parse_answer(data)
    fpm.parse(body)


def _engines(data: bytes) -> None:
    lines = LineSplitter()
    found = [*lines.feed(data[: len(data) // 2]), *lines.feed(data[len(data) // 2 :]), *lines.feed(b"\n")]
    readers = [tool(()) for tool in TOOLS]
    for line in found:
        reader_of_line(line)
        for reader in readers:
            reader.read(line)


def _jmeter(data: bytes) -> None:
    results = Results()
    reader = ResultReader(results)
    for begin in range(0, len(data), 100):
        reader.feed(data[begin : begin + 100])
    results.latencies()


def _screen(data: bytes) -> None:
    screen = Screen(80, 24)
    screen.feed(data[: len(data) // 2])
    screen.resize(1 + len(data) % 90, 1 + len(data) % 30)
    screen.feed(data[len(data) // 2 :])
    screen.lines()


def _plan(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "plan.toml"
        file.write_bytes(data)
        plan: ExperimentPlan = read_plan(file)
        plan.cells()


def _shown(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs") for letter in plain(text))
    assert not set(printable(text)) & set("\x00\x07\x1b\u202e")
    without_secrets(text.split("\n"))
    if "Hu5h" not in text:  # whatever stands before a secret does not keep it
        assert "Hu5h" not in url_without_secrets(f"{text}\nhttp://bob:Hu5h@web1/?token=Hu5h")


@cache
def _empty_recording() -> bytes:
    """The file of a recording without frames."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.loadtop"
        meta = SessionMeta(1.8e9, ("-c", "8"), "http://web1/", "0", 1.0)
        connection = create(path, meta)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        return path.read_bytes()


def _frames(data: bytes) -> None:
    """The frames of a recording, with right checksums: each piece of the input is one."""
    meta = SessionMeta(1.8e9, (), "", "0", 1.0)
    read: list[Frame] = []
    for message in data.split(b"\n---\n")[:4]:
        with suppress(codec.DamagedError):
            read.append(codec.decode(message))
    totals = Totals(None)
    seen = list(snapshots(read))
    for snapshot in seen:
        totals.add(snapshot)
    if read:
        result = totals.result()
        json.dumps(result.summary, default=str)
        for report in (text_report.report, html, markdown):
            report(result)
        if result.last_load is not None:
            ab_report(result)
        list(sar(seen))
        list(json_lines(seen, meta))


def _file(data: bytes) -> None:
    """A recording in which some bytes are others: where, and which, says the input."""
    whole = bytearray(_empty_recording())
    for begin in range(0, len(data) - 3, 4):
        place = int.from_bytes(data[begin : begin + 3], "big") % (len(whole) + 1)
        whole[place : place + 1] = data[begin + 3 : begin + 4]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.loadtop"
        path.write_bytes(whole)
        with Session(path) as session:
            result_of(session)
            session.longest_verdict()
            session.marks()
            Recomputation(session, 1).next()


def _rows(data: bytes) -> None:
    """A recording whose rows are pieces of the input, with right checksums."""
    pieces = [*data.split(b"\n---\n"), b"", b"", b""]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.loadtop"
        path.write_bytes(_empty_recording())
        with closing(sqlite3.connect(path)) as database, database:
            text = pieces[0].decode("utf-8", "replace")
            if text:
                crc = zlib.crc32(b"", zlib.crc32(repr((text,)).encode("utf-8", "surrogatepass")))
                database.execute("UPDATE session SET meta = ?, crc = ?", (text, crc))
            event = pieces[1].decode("utf-8", "replace")
            for kind in ("mark", "verdict"):
                crc = zlib.crc32(b"", zlib.crc32(repr((1, kind, 1.0, event)).encode("utf-8", "surrogatepass")))
                database.execute("INSERT INTO event VALUES (1, ?, 1.0, ?, ?)", (kind, crc, event))
        with Session(path) as session:
            session.longest_verdict()
            session.verdict_changes()
            session.marks()
            result_of(session)


PROC: Mapping[str, tuple[Callable[[str], object], ...]] = MappingProxyType(
    {
        "stat": (cpu.parse, lambda text: cpu.parse_load("0.1 0.2 0.3 1/2 3\n", text)),
        "loadavg": (cpu.parse_load, devices.parse_speed),
        "meminfo": (memory.parse, memory.parse_swap),
        "vmstat": (lambda text: memory.parse_paging(text, 4),),
        "pressure/io": (lambda text: memory.parse_pressure(text, text, text),),
        "diskstats": (devices.parse_disks, devices.parse_blocks),
        "swaps": (devices.parse_swap_devices,),
        "net/dev": (devices.parse_networks,),
        "net/netstat": (
            lambda text: sockets.parse_tcp(text, None, None),
            lambda text: sockets.parse_tcp(None, text, None),
            lambda text: sockets.parse_tcp(None, None, text, text),
        ),
        "net/tcp": (
            sockets.parse_table,
            lambda text: sockets.count_accepted(text, "80"),
            sockets.parse_listeners,
            parse_unix,
            sockets.parse_holders,
            lambda text: sockets.parse_clients(text, (80,), 5),
            peers.parse,
            lambda text: locks.parse(text, {1}, {}),
            lambda text: locks.processes_at(text, "fe:00", 1),
            locks.parse_open_files,
        ),
        "httpd-stat": (processes.parse_stat, processes.parse_pss, processes.parse_schedstats),
        "cgroup": (cgroup.parse_membership, cgroup.parse_mounts),
    }
)
"""Parsers of the kernel's texts, by the file of ``tests/fixtures/proc/6.18`` that they read, if it is there."""

_ACCOUNTS: tuple[Callable[[str], object], ...] = (
    lambda text: postgresql_account.password_in(text, "db:5432", "postgres", "me"),
    lambda text: postgresql_account.service_in(text, "shop"),
)

TARGETS = (
    FuzzTarget("responses", responses.one_input),
    FuzzTarget("status-pages", _status_page, (FetchError,)),
    FuzzTarget("apache-status", _texts(apache.parse), like=("status/2.4.71-event.txt", "status/2.2-prefork.txt")),
    FuzzTarget("nginx-status", _texts(nginx.parse)),
    FuzzTarget("fpm-status", _texts(fpm.parse)),
    FuzzTarget("fastcgi", _fastcgi, (ParseError,)),
    FuzzTarget("haproxy-csv", _texts(haproxy.parse)),
    FuzzTarget("far-clocks", _texts(remote_clocks.parse), like=("proc/6.18/ss-tnieH",)),
    FuzzTarget("profile", _texts(partial(profile.parse, "web1")), like=("profile/proc.txt",)),
    FuzzTarget("blocking", _texts(blocking), like=("status/blocking.txt",)),
    FuzzTarget("mysql", _texts(mysql.parse, mysql.account_in), like=("status/mariadb-10.11.txt",)),
    FuzzTarget("postgresql", _texts(postgresql.parse, *_ACCOUNTS), like=("status/postgresql-15.txt",)),
    FuzzTarget("uwsgi", _texts(uwsgi.parse), like=("status/uwsgi-2.0.json",)),
    FuzzTarget("redis", _redis, like=("status/redis-7.0-info.txt",)),
    *(
        FuzzTarget(f"proc-{name.replace('/', '-')}", _texts(*parsers), like=(f"proc/6.18/{name}",))
        for name, parsers in PROC.items()
    ),
    FuzzTarget("tc", _texts(queueing.parse_disciplines), like=("tc/*.txt",)),
    FuzzTarget("unix-streams", _texts(lambda text: parse_streams(text, 16)), like=("unix/*.txt",)),
    FuzzTarget("far-shell", _remote),
    FuzzTarget("configurations", _configurations),
    FuzzTarget("includes", _includes),
    FuzzTarget("engines", _engines, like=("engines/*.txt",)),
    FuzzTarget("jmeter-results", _jmeter, like=("engines/jmeter.csv",)),
    FuzzTarget("screen", _screen),
    FuzzTarget("plans", _plan, (UsageError,)),
    FuzzTarget("texts", _shown),
    FuzzTarget("recorded-frames", _frames, most_s=0.25),
    FuzzTarget("recorded-files", _file, (SessionError,), most_s=0.25),
    FuzzTarget("recorded-rows", _rows, (SessionError,), most_s=0.25),
)


def target_named(name: str) -> FuzzTarget:
    return next(target for target in TARGETS if target.name == name)
