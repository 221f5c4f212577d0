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
        self.path, self.closing = path, closing
        self.accepted: list[socket.socket] = []
        self._listener = closing.enter_context(socket.socket(socket.AF_UNIX))
        self._listener.bind(str(path))
        self._listener.listen(9)

    def connect(self) -> socket.socket:
        client = self.closing.enter_context(socket.socket(socket.AF_UNIX))
        client.connect(str(self.path))
        self.accept()
        return client

    def accept(self) -> None:
        self.accepted.append(self.closing.enter_context(self._listener.accept()[0]))

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


def test_a_connection_is_a_question_while_it_waits_to_be_accepted(service: Service) -> None:
    clocks, clients = UnixClocks(), [service.closing.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3)]
    clocks.read(0.0)
    service.connect()
    for client in clients:
        client.connect(str(service.path))
    clocks.read(1.0)
    assert service.asked(clocks).questions == 4
    service.accept()
    clocks.read(1.5)
    asked = service.asked(clocks)
    assert (asked.connections, asked.questions, asked.age_ms, asked.segments) == (8, 8, 2000, 4)


def test_each_waits_where_it_has_connected(service: Service, tmp_path: Path) -> None:
    with ExitStack() as closing:
        other = Service(tmp_path / "app.sock", closing)
        clocks, clients = UnixClocks(), [closing.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(5)]
        clocks.read(0.0)
        for client, place in zip(clients, (service, other, other, service, other), strict=True):
            client.connect(str(place.path))
        clients.pop().close()  # it stays in the queue
        clocks.read(1.0)
        assert (service.asked(clocks).questions, other.asked(clocks).questions) == (2, 2)


def test_the_end_of_a_closed_connection_does_not_wait(service: Service) -> None:
    clocks = UnixClocks()
    clocks.read(0.0)
    service.connect()
    service.accepted.pop().close()
    clocks.read(1.0)
    with pytest.raises(StopIteration):
        service.asked(clocks)


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
