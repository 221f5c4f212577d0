"""Queueing disciplines and policers of this machine from rtnetlink (Linux, include/uapi/linux/rtnetlink.h,
pkt_sched.h and pkt_cls.h), in the form that ``tc -s`` prints. Any user may ask.

Only what :mod:`collectors.linux.queueing` reads is in the text.
"""

import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from collectors.transport.netlink import HEADER, attributes, messages

_ROUTE = 0
_NEW_QDISC, _GET_QDISC, _NEW_CLASS, _GET_CLASS, _NEW_FILTER, _GET_FILTER = 36, 38, 40, 42, 44, 46
_TC = struct.Struct("=BxxxiIII")
_KIND, _OPTIONS, _OLDER_STATS, _STATS = 1, 2, 3, 7
_ACTION_KIND, _ACTION_OPTIONS, _ACTION_STATS = 1, 2, 4
_BASIC, _QUEUE = 1, 3  # within the statistics: bytes sent; packets and bytes that wait, drops, requeues, overlimits
_SPEC_RATE = 8  # where bytes/s are in struct tc_ratespec
_ROOT, _INGRESS = 0xFFFFFFFF, 0xFFFFFFF2  # parents: of the outermost discipline, of filters at the ingress
_MOST_DETAILED = 16  # interfaces of which classes or filters are read
_MOST_ANSWERS = 4096  # to one question: the owner of a container can make a million filters
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

_ACTIONS = {"u32": (7, 6), "matchall": (2, 0), "flower": (3, 0), "basic": (3, 4), "bpf": (1, 2), "fw": (4, 2)}
"""Where filters have their actions, and a policer of the older form, which is none of the actions."""

_POLICE_TBF, _POLICE_RATE = 1, 8  # struct tc_police; bytes/s in 64 bits, where 32 are too few
_TC_STATS = struct.Struct("=Q4xII")
"""Of struct tc_stats: bytes, packets dropped, packets over the rate."""
_POLICE = struct.Struct("=Ii20xI")
"""Of struct tc_police: its index, what happens to a packet over the rate, and bytes/s."""
_EXCEEDS = {1: "reclassify", 2: "drop"}  # TC_ACT_RECLASSIFY, TC_ACT_SHOT; all others let it pass


class _Found(NamedTuple):
    device: int
    handle: int
    parent: int
    attributes: Mapping[int, bytes]

    @property
    def kind(self) -> str:
        return self.attributes.get(_KIND, b"").rstrip(b"\0").decode("ascii", "replace")


def disciplines() -> str:
    """The text that ``tc -s qdisc show`` prints, for HTB its classes, and the policers at the ingress. Raises
    ``OSError`` where the kernel does not answer or does not permit it."""
    found = list(_dump(_GET_QDISC, _NEW_QDISC, 0))
    names = dict(socket.if_nameindex())
    text = "".join(_row("qdisc", each, f"dev {names[each.device]} ") for each in found if each.device in names)
    shaped = [each.device for each in found if each.kind == "htb" and each.parent == _ROOT and each.device in names]
    for index in shaped[:_MOST_DETAILED]:
        rows = (_row("class", each) for each in _dump(_GET_CLASS, _NEW_CLASS, index))
        text += f"dev {names[index]}\n" + "".join(rows)
    filtered = [each.device for each in found if each.kind in ("ingress", "clsact") and each.device in names]
    for index in filtered[:_MOST_DETAILED]:
        rows = (_policers(each) for each in _dump(_GET_FILTER, _NEW_FILTER, index, _INGRESS))
        text += f"dev {names[index]}\n" + "".join(rows)
    return text


def _dump(asked: int, answered: int, index: int, parent: int = 0) -> Iterator[_Found]:
    for kind, answer in islice(messages(_ROUTE, asked, _TC.pack(0, index, 0, parent, 0)), _MOST_ANSWERS):
        if kind == answered:
            _, device, handle, parent, _ = _TC.unpack_from(answer, HEADER.size)
            yield _Found(device, handle, parent, attributes(answer, HEADER.size + _TC.size))


def _row(what: str, found: _Found, device: str = "") -> str:
    kind = found.kind
    handle = f"{found.handle >> 16:x}:" + (f"{found.handle & 0xFFFF:x}" if what == "class" else "")
    parent = "root" if found.parent == _ROOT else f"parent {found.parent >> 16:x}:{found.parent & 0xFFFF:x}"
    counters = _stats(found.attributes.get(_STATS, b""))
    return f"{what} {kind} {handle} {device}{parent}{_rate_of(what, found)}\n{counters}"


def _stats(stats: bytes) -> str:
    found = attributes(stats)
    sent = int.from_bytes(found.get(_BASIC, b"")[:8], sys.byteorder)
    packets, waiting, drops, _, overlimits = struct.unpack("=5I", found.get(_QUEUE, b"")[:20].ljust(20, b"\0"))
    return _counters(sent, drops, overlimits, packets, waiting)


def _counters(sent: int, drops: int, overlimits: int, packets: int = 0, waiting: int = 0) -> str:
    return (
        f" Sent {sent} bytes 0 pkt (dropped {drops}, overlimits {overlimits} requeues 0) \n"
        f" backlog {waiting}b {packets}p requeues 0\n"
    )


def _policers(found: _Found) -> str:
    """Those of one filter. One of the older form has its counters beside it, in an older form too."""
    actions, older = _ACTIONS.get(found.kind, (0, 0))
    options = attributes(found.attributes.get(_OPTIONS, b""))
    each_action = (attributes(action) for action in attributes(options.get(actions, b"")).values())
    policers = [
        _police(action.get(_ACTION_OPTIONS, b"")) + _stats(action.get(_ACTION_STATS, b""))
        for action in each_action
        if action.get(_ACTION_KIND) == b"police\0"
    ]
    if older and older in options:
        counters = found.attributes.get(_OLDER_STATS, b"")[: _TC_STATS.size].ljust(_TC_STATS.size, b"\0")
        policers.append(_police(options[older]) + _counters(*_TC_STATS.unpack(counters)))
    return "".join(policers)


def _police(options: bytes) -> str:
    found = attributes(options)
    index, exceeds, rate = _POLICE.unpack_from(found.get(_POLICE_TBF, b"").ljust(_POLICE.size, b"\0"))
    wide = found.get(_POLICE_RATE, b"")[:8]
    bits = 8 * (int.from_bytes(wide, sys.byteorder) if wide else rate)
    return f" police {index:#x} rate {bits}bit action {_EXCEEDS.get(exceeds, 'pass')}\n"


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
