"""The fuzz target for some inputs that are always the same, and for what it has found."""

from itertools import islice

import pytest

from tests.fuzz.responses import inputs, one_input

FOUND = {
    "a null byte first": b"\x00\x01\x01\x01\x00HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "switching protocols after the end": (
        b"\x00\x01\x28\x02HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    ),
    "a length in a body without one": (
        b"\x00\xff\x02\x00HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody\r\nContent-Length: 0\r\n\r\n"
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_once(name: str) -> None:
    one_input(FOUND[name])


@pytest.mark.parametrize("seed", range(4))
def test_some_inputs(seed: int) -> None:
    for data in islice(inputs(seed), 500):
        one_input(data)
