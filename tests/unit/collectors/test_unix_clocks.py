"""Connections to unix sockets, from sockets of this process: which count as questions, and since when."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from collectors.linux.peers import Asked, parse
from collectors.machine import Endpoint
from collectors.transport.unix_clocks import OLDEST_S, UnixClocks


class Service:
    """Listens at a path and accepts anyone who connects."""

    def __init__(self, path: Path, closing: ExitStack) -> None:
        self.path, self._closing = path, closing
        self._listener = closing.enter_context(socket.socket(socket.AF_UNIX))
        self._listener.bind(str(path))
        self._listener.listen()

    def connect(self) -> socket.socket:
        client = self._closing.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(str(self.path))
        self._closing.enter_context(self._listener.accept()[0])
        return client

    def asked(self, clocks: UnixClocks) -> Asked:
        found = parse("readings 1\n" + "".join(clocks.rows())).asked
        return next(each for each in found if each.place == Endpoint(str(self.path), 0))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with ExitStack() as closing:
        yield Service(tmp_path / "mysqld.sock", closing)


def test_a_connection_is_a_question_until_it_is_closed(service: Service) -> None:
    clocks = UnixClocks()
    clocks.read(0.0)
    client = service.connect()
    clocks.read(1.0)
    clocks.read(1.5)
    asked = service.asked(clocks)
    assert (asked.connections, asked.questions, asked.age_ms, asked.segments) == (2, 2, 500, 1)
    client.close()
    clocks.read(2.0)
    assert service.asked(clocks) == asked


def test_connections_that_stay_ask_nothing(service: Service) -> None:
    """Those that were there before, and those of a pool that was opened later."""
    clocks = UnixClocks()
    service.connect()
    clocks.read(0.0)
    service.connect()
    clocks.read(1.0)
    clocks.read(1.0 + OLDEST_S)
    asked = service.asked(clocks)
    assert (asked.connections, asked.questions, asked.segments) == (5, 1, 1)
