"""Unix sockets that listen and those connected to them, from composed texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.linux.unix_sockets import is_plain, parse_streams
from collectors.machine import Endpoint, Missing

APP = Endpoint("/run/app.sock", 0)


def test_both_ends() -> None:
    text = "LISTEN 7 /run/app.sock\nESTAB 8 /run/app.sock\nESTAB 9 /run/app.sock\nESTAB 10 /run/other.sock\n"
    assert parse_streams(text, 1) == ([(7, APP)], [(8, APP), (10, Endpoint("/run/other.sock", 0))])


@pytest.mark.parametrize(
    "text",
    [
        Missing("not available there"),
        "",
        "LISTEN 7 /run/app.sock",  # cut off
        "LISTEN 0 /run/app.sock\n",
        "LISTEN x /run/app.sock\nLISTEN 7\nLISTEN\n\n",
        f"LISTEN {'9' * 30} /run/app.sock\n",
        "LISTEN 7 run/app.sock\nLISTEN 7 @app\nLISTEN 7 /run/a b\nLISTEN 7 /run/\x1b[2J\n",
        "ESTAB 7 /run/systemd/journal/stdout\nESTAB 7 /run/dbus/system_bus_socket\n",
        "refused\n",
    ],
)
def test_nothing_is_read(text: str | Missing) -> None:
    assert parse_streams(text, 16) == ([], [])


@given(st.text())
def test_paths_in_the_text_are_one_word(path: str) -> None:
    assert not is_plain(path) or path.split() == [path]
