"""Accept queues of unix sockets from /proc/net/unix."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import ParseError
from collectors.linux import sockets

TABLE = """\
Num       RefCount Protocol Flags    Type St Inode Path
000000008355a3da: 00000003 00000000 00000000 0001 03  1674
00000000c9b1ac7e: 00000003 00000000 00000000 0001 02     0 /run/php/fpm.sock
00000000660dc164: 00000002 00000000 00010000 0001 01 834313 /run/php/fpm.sock
0000000063c57a8d: 00000003 00000000 00000000 0001 02     0 /run/php/fpm.sock
00000000fec55870: 00000002 00000000 00010000 0001 01 89184 /run/with a space
0000000089826809: 00000003 00000000 00000000 0001 03 833377 /run/php/fpm.sock
00000000aaaaaaaa: 00000002 00000000 00010000 0005 01 89185 @abstract
"""


def test_connections_that_nobody_accepted_are_the_queue() -> None:
    assert sockets.parse_unix(TABLE) == {"/run/php/fpm.sock": 2, "/run/with a space": 0, "@abstract": 0}


def test_a_row_that_is_cut_off_is_left_out() -> None:
    assert sockets.parse_unix(TABLE.rstrip("\n") + "cut").keys() == {"/run/php/fpm.sock", "/run/with a space"}


@pytest.mark.parametrize("table", ["no table\n", "Num RefCount\n1: 2 3 nonsense 5 6 7 /x\n"])
def test_what_is_no_table_is_said(table: str) -> None:
    with pytest.raises(ParseError, match="/proc/net/unix"):
        sockets.parse_unix(table)


@given(st.text())
def test_anything_is_a_table_or_a_parse_error(text: str) -> None:
    for table in (text, TABLE + text, TABLE[: len(text)]):
        with contextlib.suppress(ParseError):
            sockets.parse_unix(table)
