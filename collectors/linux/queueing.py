"""What limits the rate of an interface: queueing disciplines for what it sends, policers for what it receives.

The text is that of ``tc -s qdisc show``, then, each after a line ``dev NAME``, for interfaces with HTB that of
``tc -s class show dev NAME``, and for those with a discipline at the ingress that of ``tc -s filter show dev NAME
ingress`` (iproute2, tc/tc_qdisc.c, tc_class.c, tc_filter.c, q_*.c and m_police.c). A transport reads it where ``tc`` is
installed, or makes it from the kernel's own answers.

tbf and netem have a ``rate`` for all that passes, cake a ``bandwidth``. fq's ``maxrate`` is that of one connection. In
HTB a class sends at its ``ceil`` at most, and at those of the classes above it. Which class has the traffic follows
from what each has sent since the reading before; what passes by all classes is not shaped. Policers are treated in the
same way: the one that has seen most has the rate. One that lets pass what exceeds its rate, or that counts packets
instead of bytes, has none.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice, pairwise

from msgspec import Struct
from msgspec.structs import replace

from collectors.machine import Reading, Wanted
from collectors.parsing import MOST_DEVICES, complete_lines, count_or_none, decimal, short
from loadtop.model import Network

QDISCS = "@qdiscs"
QDISC_BYTES = 1 << 17
MOST_CLASSES = 4096
_MOST_MBIT = 1e7  # what claims more is not shaped
_Sent = Mapping[tuple[str, str], int]
"""Bytes by the name of an interface and a handle."""

_RATE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?P<unit>[KMGT]i?)?bit", re.ASCII)
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SENT = re.compile(
    r"\s?Sent (?P<bytes>\d{1,19}) bytes \d{1,19} pkts? "
    r"\(dropped (?P<drops>\d{1,19}), overlimits (?P<overlimits>\d{1,19})[ )]",
    re.ASCII,
)
_BACKLOG = re.compile(r" backlog \S{1,20} (?P<packets>\d{1,19})p ", re.ASCII)
_ROOT = "root"
_INGRESS = frozenset(("ingress", "clsact"))
_RATES = {"tbf": "rate", "netem": "rate", "cake": "bandwidth", "fq": "maxrate"}
LIMITING = (*_RATES, "htb", *sorted(_INGRESS))
"""The kinds of which any can limit what passes an interface."""
_PASS_ALL = frozenset(("tbf", "netem"))  # they pass everything on to the one discipline within them
_POLICE = re.compile(
    r"\s{1,4}(?:action order \d{1,2}:\s{1,4})?police (?P<handle>0x[0-9a-f]{1,8}) rate (?P<rate>\S{1,40})"
    r" .{0,200}?\baction (?P<exceeds>\w{1,20})",
    re.ASCII,
)
_DROPS = frozenset(("drop", "reclassify"))
"""What a policer does with a packet over its rate, where that ends in a drop (Linux, net/sched/cls_api.c,
tcf_classify(): what is reclassified again and again is dropped)."""


class Discipline(Struct, frozen=True):
    """One queueing discipline, one class of HTB, or one policer. ``handle`` is its own (``8001:``, ``1:10``, ``0x1``)
    and ``parent`` that of what it is in, or ``root``; ``mbit`` is the most that it lets pass; ``backlog`` counts
    packets that wait now, the others are counters. ``sent_bytes`` of a policer include what it drops."""

    kind: str
    handle: str
    parent: str
    mbit: float | None
    sent_bytes: int = 0
    drops: int = 0
    overlimits: int = 0
    backlog: int = 0


class Interface(Struct, frozen=True):
    """The queueing disciplines of one interface, its classes, and its policers at the ingress."""

    disciplines: tuple[Discipline, ...] = ()
    classes: tuple[Discipline, ...] = ()
    policers: tuple[Discipline, ...] = ()

    @property
    def root(self) -> Discipline | None:
        return next((each for each in self.disciplines if each.parent == _ROOT), None)

    @property
    def ingress(self) -> Discipline | None:
        return next((each for each in self.disciplines if each.kind in _INGRESS), None)


def parse_disciplines(text: str) -> Mapping[str, Interface]:
    """What limits each interface, by its name. Lines that are none of a discipline, a class, a policer or what one has
    sent are passed over: each kind prints some of its own."""
    disciplines, classes, policers = (defaultdict[str, list[Discipline]](list) for _ in range(3))
    device, newest = "", list[Discipline]()
    for line in complete_lines(text):
        words = line.split()
        if words[:1] == ["dev"] and len(words) == 2:
            device, newest = short(words[1]), []
        elif words[:1] == ["qdisc"] and len(words) > 5 and words[3] == "dev":
            newest = disciplines[short(words[4])] if len(disciplines) < MOST_DEVICES else []
            newest.append(_discipline(words, words[5:]))
        elif words[:2] == ["class", "htb"] and len(words) > 3:
            newest = classes[device] if len(classes[device]) < MOST_CLASSES else []
            newest.append(_discipline(words, words[3:]))
        elif police := _POLICE.match(line):
            newest = policers[device] if len(policers[device]) < MOST_CLASSES else []
            newest.append(_policer(police))
        elif words[:1] == ["filter"] or words[:2] == ["action", "order"]:
            newest = []  # the counters that follow are not a policer's
        elif newest:
            newest[-1] = _with_counters(newest[-1], line)
    return {
        name: Interface(tuple(found), tuple(classes.get(name, ())), tuple(policers.get(name, ())))
        for name, found in disciplines.items()
    }


class Shaping:
    """What limits the interfaces of a machine, or with ``QDISCS/PID`` those of the network of one of its processes. It
    is read with every sample while something does, else now and then."""

    def __init__(self, source: str = QDISCS) -> None:
        self._source = source
        self._is_known = False
        self._interfaces: Mapping[str, Interface] = {}
        self._sent: _Sent = {}
        self._shaped_mbit: Mapping[str, float] = {}
        self._policed_mbit: Mapping[str, float] = {}

    def files(self, *, slow: bool) -> Iterator[Wanted]:
        """What the next sample is to read; ``slow``: also what hardly ever changes."""
        if slow or self.may_limit:
            yield Wanted(self._source, QDISC_BYTES)

    @property
    def may_limit(self) -> bool:
        """Whether something limited an interface when it was last read; yes as long as it was not."""
        return not self._is_known or bool(self._shaped_mbit or self._policed_mbit)

    def learn(self, reading: Reading) -> None:
        if self._source not in reading.files:
            return
        self._is_known = True
        self._interfaces = parse_disciplines(reading.optional(self._source) or "")
        self._shaped_mbit, self._policed_mbit = self._limits(_shaped), self._limits(_policed)
        counted = (_counted(name, interface, self._sent) for name, interface in self._interfaces.items())
        self._sent = dict(chain.from_iterable(counted))

    def _limits(self, rate: Callable[[str, Interface, _Sent], float | None]) -> Mapping[str, float]:
        found = ((name, rate(name, interface, self._sent)) for name, interface in self._interfaces.items())
        return {name: mbit for name, mbit in found if mbit is not None}

    def applied(self, networks: Iterable[Network], connections: int | None) -> tuple[Network, ...]:
        """The same interfaces with what limits them. ``connections`` are those of TCP that are established, each of
        which may have the rate of fq."""
        return tuple(self._limited(network, connections) for network in networks)

    def _limited(self, network: Network, connections: int | None) -> Network:
        interface = self._interfaces.get(network.name, Interface())
        mbit, root = self._shaped_mbit.get(network.name), interface.root
        if root is not None and root.kind == "fq" and mbit is not None:
            mbit = None if connections is None else mbit * max(1, connections)
        if mbit is not None and root is not None:
            network = replace(
                network,
                shaped_mbit=mbit,
                queue_drops=root.drops,
                queue_overlimits=root.overlimits,
                queue_backlog=root.backlog,
            )
        policed_mbit = self._policed_mbit.get(network.name)
        if policed_mbit is None:
            return network
        over = sum(each.overlimits for each in interface.policers if each.mbit is not None)
        return replace(network, policed_mbit=policed_mbit, policed_drops=over)


def _discipline(words: list[str], rest: list[str]) -> Discipline:
    """From a line ``qdisc KIND HANDLE dev NAME root|parent ...`` or ``class KIND HANDLE root|parent ...``."""
    kind = short(words[1])
    parent = _ROOT if rest[0] == _ROOT else short(_after("parent", rest))
    name = "ceil" if words[0] == "class" else _RATES.get(kind, "")
    return Discipline(kind, short(words[2]), parent, parse_rate(_after(name, rest)) if name else None)


def _policer(match: re.Match[str]) -> Discipline:
    mbit = parse_rate(match["rate"]) if match["exceeds"] in _DROPS else None
    return Discipline("police", match["handle"], "", mbit)


def _after(name: str, words: list[str]) -> str:
    return next((value for word, value in pairwise(words) if word == name), "")


def parse_rate(text: str) -> float | None:
    """Mbit/s of a rate as ``tc`` prints it (``20Mbit``, ``1500Kbit``; with -iec ``1Mibit``); ``None`` where it is 0 or
    none (``unlimited``)."""
    match = _RATE.fullmatch(text)
    if match is None:
        return None
    mbit = decimal(match["number"], "rate of tc") * _UNITS[match["unit"] or ""] / 1e6
    return mbit if 0 < mbit <= _MOST_MBIT else None


def _with_counters(discipline: Discipline, line: str) -> Discipline:
    if sent := _SENT.match(line):
        numbers = [count_or_none(sent[name]) or 0 for name in ("bytes", "drops", "overlimits")]
        return replace(discipline, sent_bytes=numbers[0], drops=numbers[1], overlimits=numbers[2])
    if waiting := _BACKLOG.match(f"{line} "):
        return replace(discipline, backlog=count_or_none(waiting["packets"]) or 0)
    return discipline


def _shaped(name: str, interface: Interface, before: _Sent) -> float | None:
    """The most that one interface sends, in Mbit/s; ``None`` where nothing of it is shaped."""
    root = interface.root
    if root is None:
        return None
    if root.kind == "htb":
        return _busiest_rate(name, root, interface.classes, before)
    inside = {each.parent.partition(":")[0]: each for each in interface.disciplines if each.parent != _ROOT}
    rates, place = [root.mbit], root
    for _ in interface.disciplines:  # a discipline in itself ends nowhere
        found = inside.get(place.handle.partition(":")[0])
        if found is None or place.kind not in _PASS_ALL:
            break
        place = found
        rates.append(None if place.kind == "fq" else place.mbit)
    return min((mbit for mbit in rates if mbit is not None), default=None)


def _policed(name: str, interface: Interface, before: _Sent) -> float | None:
    """The most that one interface receives, in Mbit/s; ``None`` where no policer drops what is more."""
    ingress = interface.ingress
    return None if ingress is None else _busiest_rate(name, ingress, interface.policers, before)


def _counted(name: str, interface: Interface, before: _Sent) -> Iterator[tuple[tuple[str, str], int]]:
    """Bytes so far, by interface and handle, to compare the next reading with. Classes and policers are read after the
    discipline that they are in, and may already count bytes that it had not counted: these are added to its own."""
    for each in (*interface.disciplines, *interface.classes, *interface.policers):
        yield (name, each.handle), each.sent_bytes
    for root, within in ((interface.root, interface.classes), (interface.ingress, interface.policers)):
        if root is not None:
            ahead = sum(_passed(name, each, before) for each in _leaves(within)) - _passed(name, root, before)
            yield (name, root.handle), root.sent_bytes + max(0, ahead)


def _passed(name: str, each: Discipline, before: _Sent) -> int:
    return max(0, each.sent_bytes - before.get((name, each.handle), 0))


def _leaves(classes: Iterable[Discipline]) -> list[Discipline]:
    known = {each.handle: each for each in classes}
    inner = {each.parent for each in known.values()}
    return [each for each in known.values() if each.handle not in inner]


def _busiest_rate(name: str, root: Discipline, classes: Iterable[Discipline], before: _Sent) -> float | None:
    """The rate of the class, or policer, that has seen most; ``None`` where most went by all of them."""
    sent = partial(_passed, name, before=before)
    known = {each.handle: each for each in classes}
    leaves = _leaves(known.values())
    busiest = max(leaves, key=sent, default=None)
    if busiest is None or sent(busiest) < sent(root) - sum(map(sent, leaves)):
        return None
    rates = list[float]()
    place: Discipline | None = busiest
    for _ in islice(known, MOST_CLASSES):
        if place is None:
            break
        rates += [place.mbit] if place.mbit is not None else []
        place = known.get(place.parent)
    return min(rates, default=None)
