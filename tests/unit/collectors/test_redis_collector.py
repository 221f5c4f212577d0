"""What Redis answers, and to which servers the password goes."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
from msgspec.structs import replace

from collectors.errors import AbsentError, ParseError, SilentError
from collectors.machine import Endpoint, Page
from collectors.redis.collector import FIX, FIX_PASSWORD, PASSWORD, RedisCollector, commands, parse, parse_page
from collectors.redis.session import Session
from loadtop.servers.redis.record import RedisStatus
from tests.unit.collectors.fake_machine import FakeMachine, collector_of
from tests.unit.collectors.texts import status

ADDRESS = "127.0.0.1:6379"
ASKED = b"INFO\r\nSLOWLOG LEN\r\nQUIT\r\n"
TOO_MANY = "-ERR max number of clients reached\r\n"


OPENED = Session.opened


@pytest.fixture(autouse=True)
def no_second_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def opened(_: str) -> Session:
        raise ConnectionRefusedError

    monkeypatch.setattr(Session, "opened", opened)


def answer(info: str, after: str = ":0\r\n+OK\r\n") -> str:
    return f"${len(info)}\r\n{info}\r\n{after}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_answer(end: str) -> None:
    info = status("redis-7.0-info.txt").replace("\n", end)
    found = parse(answer(info, ":7\r\n+OK\r\n"), ADDRESS)
    assert found.cpu == pytest.approx(100 * (0.026650 + 0.010660))
    assert replace(found, cpu=None) == RedisStatus(
        ADDRESS,
        "7.0.15",
        clients=3,
        blocked=1,
        max_clients=5,
        slowlog=7,
        commands=4711,
        rejected=2,
        port=7399,
        uptime_s=20,
    )


def test_before_6_2_the_cpu_time_is_that_of_all_threads() -> None:
    lines = status("redis-7.0-info.txt").splitlines(keepends=True)
    info = "".join(line for line in lines if "main_thread" not in line)
    assert parse(answer(info)).cpu == pytest.approx(100 * (0.025449 + 0.011905))
    assert parse(answer(info.replace("used_cpu_user:0.011905", "used_cpu_user:-1"))).cpu is None


@pytest.mark.parametrize("number", ["-1", "", "nan", "1e9", "9" * 20, "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_value_that_is_not_a_number_is_not_measured(number: str) -> None:
    names = ("connected_clients", "maxclients", "tcp_port", "used_cpu_sys", "used_cpu_user", "total_commands_processed")
    info = "redis_version:7.2\r\n" + "".join(f"{name}:{number}\r\n" for name in names)
    assert parse(answer(info, f":{number}\r\n"), ADDRESS) == RedisStatus(ADDRESS, "7.2")


@pytest.mark.parametrize(("told", "port"), [("65535", 65535), ("65536", None), ("70000", None)])
def test_a_port_is_at_most_65535(told: str, port: int | None) -> None:
    assert parse(answer(status("redis-7.0-info.txt").replace("tcp_port:7399", f"tcp_port:{told}"))).port == port


def test_an_answer_may_end_with_info() -> None:
    assert parse(answer("redis_version:7\r\n", after="")).version == "7"


def test_sixteen_replies_are_read() -> None:
    info = answer("redis_version:7\r\n")
    assert parse("+OK\r\n" * 15 + info).version == "7"
    with pytest.raises(ParseError):
        parse("+OK\r\n" * 16 + info)


def test_a_user_who_may_only_run_info() -> None:
    text = answer(
        "redis_version:7\r\n", "-NOPERM this user has no permissions to run the 'slowlog|len' command\r\n+OK\r\n"
    )
    assert parse_page(Page(ADDRESS, 200, text, 0.0)) == RedisStatus(ADDRESS, "7")


def test_a_password_in_any_encoding() -> None:
    assert commands("\udce9")[0].startswith(b"*2\r\n$4\r\nAUTH\r\n$1\r\n\xe9\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "\r\n",
        "$-1\r\n",
        "$99\r\nredis_version:7\r\n",
        "$17\r\nredis_version:7\r\n",
        "$10\r\nhz:10\r\na:b\r\n",
        f"${'9' * 5000}\r\n",
        "+OK\r\n" * 100,
        "*1\r\n$2\r\nhi\r\n",
    ],
)
def test_other_answers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
    with pytest.raises(AbsentError, match="--redis ADDRESS"):
        parse_page(Page(ADDRESS, 200, text, 0.0))


def test_too_many_clients_are_a_reading() -> None:
    status = parse_page(Page(ADDRESS, 200, TOO_MANY, 0.0))
    assert (status, status.full) == (RedisStatus(ADDRESS, refuses=True), 100.0)
    assert "maxclients" in str(RedisCollector.lacks(status))


@pytest.mark.parametrize(
    ("said", "words", "fix"),
    [
        ("NOAUTH Authentication required.", PASSWORD, FIX_PASSWORD),
        ("WRONGPASS invalid username-password pair or user is disabled.", PASSWORD, FIX_PASSWORD),
        ("NOPERM this user has no permissions to run the 'info' command", "not allowed to run INFO", FIX),
        ("BUSY Redis is busy running a script.", "over 5 s", ""),
        ("DENIED Redis is running in protected mode", "protected mode", ""),
    ],
)
def test_advice_if_the_server_refuses(said: str, words: str, fix: str) -> None:
    with pytest.raises(AbsentError) as refused:
        parse_page(Page(ADDRESS, 200, f"-{said}\r\n:0\r\n+OK\r\n", 0.0))
    assert words in str(refused.value)
    assert str(refused.value.fix) == fix


class Asked(FakeMachine):
    """A machine on which a Redis runs, and what it was asked."""

    def __init__(self, *places: Endpoint) -> None:
        super().__init__()
        self.group, self.httpd = "redis", {7: places}
        self.asked: list[tuple[str, bytes]] = []
        self.answering = "6379"  # addresses that end in this

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002 - a Machine
        self.asked.append((address, question))
        return answer("redis_version:7\r\n").encode() if address.endswith(self.answering) else b"-ERR unknown\r\n"


@pytest.mark.parametrize(
    ("places", "asked"),
    [
        ((), ["127.0.0.1:6379"]),  # where it listens may be read by root only
        ((Endpoint("0.0.0.0", 16379), Endpoint("::", 6379)), ["[::1]:6379"]),  # noqa: S104 - as read
        ((Endpoint("10.0.0.5", 7000),), ["10.0.0.5:7000"]),
    ],
)
async def test_where_it_is_asked_and_without_a_password(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Endpoint, ...], asked: list[str]
) -> None:
    monkeypatch.setenv(PASSWORD, "Hu5h")
    machine = Asked(*places)
    collector = collector_of(RedisCollector, machine)
    await collector.search_pages((7,))
    assert [address for address, _ in machine.asked if not address.startswith("/")] == asked
    assert [address for address, question in machine.asked if b"Hu5h" in question] == list(RedisCollector.sockets)


async def test_two_servers_are_both_watched() -> None:
    """The first has the usual socket."""
    machine = Asked(Endpoint("127.0.0.1", 6379))
    machine.httpd[8] = (Endpoint("127.0.0.1", 6380),)
    machine.answering = ""
    collector = collector_of(RedisCollector, machine)
    await collector.search_pages((7, 8))
    assert [page.url for page in collector.pages] == [RedisCollector.sockets[0], "127.0.0.1:6380"]


class Far(Asked):
    """Its sockets are reached through others here."""

    async def reach(self, address: str) -> str:
        return f"/here{address}"


async def test_a_socket_of_a_remote_host_gets_no_password_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "Hu5h")
    machine, (path, *_) = Far(), RedisCollector.sockets
    for collector in (collector_of(RedisCollector, machine), collector_of(RedisCollector, machine, path)):
        await collector.fetch(path, 1.0)
    assert [b"Hu5h" in question for _, question in machine.asked] == [False, True]


async def test_a_server_that_is_named_gets_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "Hü5h")
    machine = Asked()
    collector = collector_of(RedisCollector, machine, "unix:/run/x.sock", "db:6379")
    collector.start(1.0)
    assert [page.url for page in collector.pages] == ["/run/x.sock", "db:6379"]
    page = await collector.fetch("db:6379", 1.0)
    assert page.status == 200
    assert collector.records(page, 5.0)[0].at == 5.0
    assert machine.asked == [("db:6379", "*2\r\n$4\r\nAUTH\r\n$5\r\nHü5h\r\n".encode() + ASKED)]


class Server:
    """Answers at a unix socket what stands in ``says``, each to two commands, and closes the connection after the last
    of them."""

    def __init__(self, path: Path, *says: str) -> None:
        self.path = str(path)
        self.says = list(says)
        self.heard = b""
        self.asked = asyncio.Event()
        self.serving: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._accept, self.path)
        return self

    async def __aexit__(self, *_error: object) -> None:
        for _ in range(9):  # the last connection may not have been accepted yet
            await asyncio.sleep(0)
        self._server.close()
        await asyncio.gather(*self.serving)
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while self.says:
            heard = await reader.readline() + await reader.readline()
            self.heard += heard
            self.asked.set()
            if not heard:
                break
            writer.write(self.says.pop(0).encode())
        writer.close()
        with suppress(OSError):  # its client is gone
            await writer.wait_closed()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Asked, RedisCollector, Path]:
    """What is asked, the collector, and the socket of the server to which it connects after the first answer."""
    machine, path = Asked(), tmp_path / "redis.sock"

    async def opened(_: str) -> Session:
        return await OPENED(str(path))

    monkeypatch.setattr(Session, "opened", opened)
    collector = collector_of(RedisCollector, machine, ADDRESS)
    collector.start(1.0)
    return machine, collector, path


async def test_a_server_that_has_answered_is_asked_on_one_connection(kept: tuple[Asked, RedisCollector, Path]) -> None:
    machine, collector, path = kept
    second, third = (answer(f"redis_version:{number}\r\n", ":7\r\n") for number in (2, 3))
    async with Server(path, second, third) as server:
        pages = [await collector.fetch(ADDRESS, 5.0) for _ in range(3)]
        assert [parse_page(page).version for page in pages[1:]] == ["2", "3"]
        assert parse_page(pages[2]).slowlog == 7
        assert machine.asked == [(ADDRESS, ASKED)]
        assert server.heard == 2 * ASKED.removesuffix(b"QUIT\r\n")
        await collector.fetch(ADDRESS, 5.0)  # it has closed the connection
        assert len(machine.asked) == 2
        await collector.close()


async def test_a_connection_of_the_machine_itself_is_preferred(kept: tuple[Asked, RedisCollector, Path]) -> None:
    machine, collector, path = kept
    there = Page(ADDRESS, 200, answer("redis_version:4\r\n"), 0.01, 5.0)
    async with Server(path, answer("redis_version:2\r\n")) as server:
        await collector.fetch(ADDRESS, 5.0)
        machine.answers_again[ADDRESS] = there
        assert [await collector.fetch(ADDRESS, 5.0) for _ in range(2)] == [there, there]
        assert server.heard == b"", "the other is closed"
        del machine.answers_again[ADDRESS]
        await collector.fetch(ADDRESS, 5.0)
        assert len(machine.asked) == 2
        await collector.fetch(ADDRESS, 5.0)  # no other was opened: it might have answered there again
        assert "redis_version:2" in (await collector.fetch(ADDRESS, 5.0)).text
        assert len(machine.asked) == 3
        await collector.close()


@pytest.mark.parametrize(
    "says", ["", "$5\r\nredis", "$-1\r\n", "$99999999\r\n", "$x\r\n", "+" * 70_000, ":1\r\n", "+OK\r"]
)
async def test_a_connection_that_fails_at_once_is_not_kept(kept: tuple[Asked, RedisCollector, Path], says: str) -> None:
    machine, collector, path = kept
    async with Server(path, says) as server:
        for _ in range(3):
            assert "redis_version" in (await collector.fetch(ADDRESS, 5.0)).text
        await collector.close()
    assert machine.asked == [(ADDRESS, ASKED)] * 3
    assert len(server.serving) == 1, "it would be closed at once again"


async def test_the_connection_of_a_server_that_is_not_followed_any_more_is_closed(
    kept: tuple[Asked, RedisCollector, Path],
) -> None:
    _, collector, path = kept
    async with Server(path, answer("redis_version:2\r\n")) as server:
        await collector.fetch(ADDRESS, 5.0)
        collector.pages = ()
        await collector.fetch("/run/other.sock", 5.0)
    assert len(server.serving) == 1
    assert server.heard == b""
    await collector.close()


async def test_a_cancelled_request_closes_the_connection(kept: tuple[Asked, RedisCollector, Path]) -> None:
    _, collector, path = kept
    async with Server(path, "$", "") as server:
        await collector.fetch(ADDRESS, 5.0)
        reading = asyncio.create_task(collector.fetch(ADDRESS, 5.0))
        await server.asked.wait()
        reading.cancel()
        await asyncio.wait((reading,))
    await collector.close()


async def test_a_server_that_falls_silent_is_not_asked_again_at_once(
    kept: tuple[Asked, RedisCollector, Path],
) -> None:
    machine, collector, path = kept
    async with Server(path, "$", "") as server:
        await collector.fetch(ADDRESS, 5.0)
        with pytest.raises(SilentError):
            await collector.fetch(ADDRESS, 0.01)
        assert machine.asked == [(ADDRESS, ASKED)]
        server.says.clear()
        await collector.close()
