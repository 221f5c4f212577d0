"""Queueing disciplines of this machine from rtnetlink (Linux, include/uapi/linux/rtnetlink.h and pkt_sched.h), in the
form that ``tc -s`` prints. Any user may ask.

Only what :mod:`collectors.linux.queueing` reads is in the text.
"""

import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from collectors.transport.netlink import HEADER, attributes, messages

_ROUTE = 0
_NEW_QDISC, _GET_QDISC, _NEW_CLASS, _GET_CLASS = 36, 38, 40, 42
_TC = struct.Struct("=BxxxiIII")
_KIND, _OPTIONS, _STATS = 1, 2, 7
_BASIC, _QUEUE = 1, 3  # within the statistics: bytes sent; packets and bytes that wait, drops, requeues, overlimits
_SPEC_RATE = 8  # where bytes/s are in struct tc_ratespec
_ROOT = 0xFFFFFFFF
_MOST_WITH_CLASSES = 16
_NETEM_BYTES = 24  # struct tc_netem_qopt, before netem's attributes


class _Rate(NamedTuple):
    """Where a kind has its rate: the attribute of 64 bits, then that with an older field of 32 bits (4 GB/s there stand
    for more) and where that is in it; the word before it in the text of ``tc``."""

    word: str
    wide: int
    narrow: int
    offset: int = 0


_RATES = {
    ("qdisc", "tbf"): _Rate("rate", 4, 1, _SPEC_RATE),
    ("qdisc", "netem"): _Rate("rate", 8, 6),
    ("qdisc", "cake"): _Rate("bandwidth", 2, 0),
    ("qdisc", "fq"): _Rate("maxrate", 0, 7),
    ("class", "htb"): _Rate("ceil", 7, 1, 12 + _SPEC_RATE),  # after the class's guaranteed rate
}
_UNLIMITED = 2**32 - 1


class _Found(NamedTuple):
    device: int
    handle: int
    parent: int
    attributes: Mapping[int, bytes]

    @property
    def kind(self) -> str:
        return self.attributes.get(_KIND, b"").rstrip(b"\0").decode("ascii", "replace")


def disciplines() -> str:
    """The text that ``tc -s qdisc show`` prints, and for HTB its classes. Raises ``OSError`` where the kernel does not
    answer or does not permit it."""
    found = list(_dump(_GET_QDISC, _NEW_QDISC, 0))
    names = dict(socket.if_nameindex())
    text = "".join(_row("qdisc", each, f"dev {names[each.device]} ") for each in found if each.device in names)
    shaped = [each.device for each in found if each.kind == "htb" and each.parent == _ROOT and each.device in names]
    for index in shaped[:_MOST_WITH_CLASSES]:
        rows = (_row("class", each) for each in _dump(_GET_CLASS, _NEW_CLASS, index))
        text += f"dev {names[index]}\n" + "".join(rows)
    return text


def _dump(asked: int, answered: int, index: int) -> Iterator[_Found]:
    for kind, answer in messages(_ROUTE, asked, _TC.pack(0, index, 0, 0, 0)):
        if kind == answered:
            _, device, handle, parent, _ = _TC.unpack_from(answer, HEADER.size)
            yield _Found(device, handle, parent, attributes(answer, HEADER.size + _TC.size))


def _row(what: str, found: _Found, device: str = "") -> str:
    kind = found.kind
    handle = f"{found.handle >> 16:x}:" + (f"{found.handle & 0xFFFF:x}" if what == "class" else "")
    parent = "root" if found.parent == _ROOT else f"parent {found.parent >> 16:x}:{found.parent & 0xFFFF:x}"
    stats = attributes(found.attributes.get(_STATS, b""))
    sent = int.from_bytes(stats.get(_BASIC, b"")[:8], sys.byteorder)
    packets, waiting, drops, _, overlimits = struct.unpack("=5I", stats.get(_QUEUE, b"")[:20].ljust(20, b"\0"))
    return (
        f"{what} {kind} {handle} {device}{parent}{_rate_of(what, found)}\n"
        f" Sent {sent} bytes 0 pkt (dropped {drops}, overlimits {overlimits} requeues 0) \n"
        f" backlog {waiting}b {packets}p requeues 0\n"
    )


def _rate_of(what: str, found: _Found) -> str:
    place = _RATES.get((what, found.kind))
    if place is None:
        return ""
    options = found.attributes.get(_OPTIONS, b"")
    rates = attributes(options[_NETEM_BYTES:] if found.kind == "netem" else options)
    wide = rates.get(place.wide, b"")[:8] if place.wide else b""
    narrow = rates.get(place.narrow, b"")[place.offset : place.offset + 4] if place.narrow else b""
    rate = int.from_bytes(wide or narrow, sys.byteorder)
    return f" {place.word} {rate * 8}bit" if rate and (wide or rate != _UNLIMITED) else ""
