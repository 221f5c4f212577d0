"""The connection to a remote shell: messages, questions beside the samples, and starts that fail."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from collectors.errors import ClosedError, FetchError, SilentError, TransportError
from collectors.transport.exec import relay
from collectors.transport.exec.relay import RelayedPages
from collectors.transport.exec.start import start_command
from collectors.transport.shell import connection as shell_connection
from collectors.transport.shell import pages as shell_pages
from collectors.transport.shell.connection import ShellConnection
from collectors.transport.shell.guard import SocketDirectory
from collectors.transport.shell.pages import RemotePages
from collectors.transport.shell.transport import ShellTransport


class Process:
    """A process that leads to a remote host: ``sent`` is its input, ``stderr`` is written by the test."""

    def __init__(self) -> None:
        self.pid = 4711
        self.returncode: int | None = None
        self.sent: list[str] = []
        self.stdin, self.stdout, self.stderr = self, None, asyncio.StreamReader()
        self._transport = self

    def is_closing(self) -> bool:
        return False

    def write(self, orders: bytes) -> None:
        self.sent.append(orders.decode())

    def close(self) -> None:
        self.returncode = self.returncode or 0

    def kill(self) -> None:
        self.returncode = -9

    terminate = kill

    async def wait(self) -> int | None:
        return self.returncode


class Directory:
    path = Path("/nowhere")

    def opened_by(self, group: int) -> None: ...

    def remove(self) -> None: ...


@pytest.fixture
async def process() -> Process:
    return Process()


@pytest.fixture
async def connection(process: Process) -> AsyncIterator[ShellConnection]:
    made = ShellConnection("ssh://web1", cast("Any", process), cast("Any", Directory()), cast("Any", None))
    yield made
    await made.close()


def answered(process: Process, question: str, text: str) -> None:
    mark = question.split()[1]
    process.stderr.feed_data(f"\n#{mark}\n{text}\n#{mark}.\n".encode())


async def test_refused_connections_without_end_end_the_connection(
    process: Process, connection: ShellConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_connection, "_MOST_LINES", 3)
    process.stderr.feed_data(b"channel 3: open failed: connect failed: Connection refused\n" * 5)
    process.stderr.feed_eof()
    await connection._listening  # pyright: ignore[reportPrivateUsage]
    assert process.returncode == -9


async def test_one_question_at_a_time_until_it_is_answered_or_given_up(
    process: Process, connection: ShellConnection
) -> None:
    answers = [connection.ask_beside("b", (pid,)) for pid in (1, 2, 3, 4)]
    assert [question.split()[-1] for question in process.sent] == ["1"]
    connection.give_up(answers[2])
    connection.give_up(answers[0])
    answered(process, process.sent[-1], "two")
    assert await answers[1] == "two"
    assert [question.split()[-1] for question in process.sent] == ["1", "2", "4"]
    await connection.close()
    assert answers[3].cancelled()


class Far(ShellTransport):
    async def start(self) -> tuple[ShellConnection, RemotePages]:
        raise TransportError("no connection")


class Refused(RemotePages):
    async def forward(self, address: str, socket: str) -> None:
        pytest.fail(f"{socket} leads to {address}")


async def test_pages_that_are_closed_open_nothing(connection: ShellConnection) -> None:
    """A question that the lost host has not answered comes here only now."""
    pages = Refused(connection)
    await pages.close()
    for asking in (pages.get("http://127.0.0.1/", 1.0), pages.ask("127.0.0.1:80", b"", 1.0), pages.reach("/run/x")):
        with pytest.raises(FetchError, match="no connection to the host"):
            await asking


async def test_a_profile_ends_with_the_connection(process: Process, connection: ShellConnection) -> None:
    far = Far("ssh://web1")
    far._connection = connection  # pyright: ignore[reportPrivateUsage]
    profile = asyncio.create_task(far.profile((7,)))
    await asyncio.sleep(0)
    assert [question.split()[0] for question in process.sent] == ["a"]
    await far.close()
    with pytest.raises(TransportError, match="no connection"):
        await profile


async def test_the_reason_of_a_refused_connection_is_that_of_its_address(
    connection: ShellConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are requested at the same time."""
    pages = RelayedPages(connection, ("sh",))
    pages.sockets = {"web1:80": "Connection refused", "web1:81": "timed out"}

    async def exchange(refusal: str, *_: object) -> bytes:
        pages.refusals[next(address for address, socket in pages.sockets.items() if socket == refusal)] = refusal
        await asyncio.sleep(0)
        raise FetchError("the server closed the connection")

    monkeypatch.setattr(shell_pages, "exchange", exchange)
    asked = (pages.ask(address, b"", 1.0) for address in pages.sockets)
    reasons = [str(error) for error in await asyncio.gather(*asked, return_exceptions=True)]
    assert reasons == ["connection refused: nothing is listening there", "no response there"]


async def test_the_reason_may_be_read_after_the_socket_is_closed(
    process: Process, connection: ShellConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = RelayedPages(connection, ("sh",))
    pages.sockets = {"web1:80": "/nowhere"}

    async def exchange(*_: object) -> bytes:
        line = b"channel 3: open failed: connect failed: Connection refused\n"
        asyncio.get_running_loop().call_soon(process.stderr.feed_data, line)
        raise ClosedError("the server closed the connection")

    monkeypatch.setattr(shell_pages, "exchange", exchange)
    for _ in range(2):
        with pytest.raises(FetchError, match="connection refused: nothing is listening there"):
            await pages.ask("web1:80", b"", 1.0)


async def test_a_reason_that_does_not_come_is_waited_for_once(
    connection: ShellConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full nginx closes new connections, and ssh has nothing to say about that."""
    pages = RelayedPages(connection, ("sh",))
    pages.sockets = {"web1:80": "/nowhere"}
    answers: list[bytes | FetchError] = []
    waited: list[bool] = []

    async def exchange(*_: object) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, FetchError):
            raise answer
        return answer

    async def refusal(*, wait: bool) -> str:
        waited.append(wait)
        return ""

    monkeypatch.setattr(shell_pages, "exchange", exchange)
    monkeypatch.setattr(connection, "refusal", refusal)
    closed, silent = ClosedError("closed"), SilentError("silent")
    for answer in (silent, closed, closed, silent, b"", closed):
        answers.append(answer)
        with contextlib.suppress(FetchError):
            await pages.ask("web1:80", b"", 1.0)
    assert waited == [False, True, False, False, True]


async def test_a_relay_that_does_not_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[asyncio.subprocess.Process, SocketDirectory]] = []

    async def start(*words: Any, **options: Any) -> tuple[asyncio.subprocess.Process, SocketDirectory]:
        commands.append(await start_command(*words, **options))
        return commands[-1]

    def odd(_: str) -> tuple[int, int]:
        raise TransportError("no connection")

    monkeypatch.setattr(relay, "start_command", start)
    monkeypatch.setattr(relay, "started", odd)
    with pytest.raises(TransportError, match="no connection"):
        await relay._Relay.start(("sh",))  # pyright: ignore[reportPrivateUsage]
    ((process, directory),) = commands
    assert await process.wait() is not None
    assert not directory.path.exists()
