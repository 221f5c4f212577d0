"""The network namespaces of servers under test that are in another one: of a container, or of the host where loadtop
itself is in one. What limits their interfaces limits the load, and cannot be seen from here.

Interfaces are read from ``/proc/PID/net/dev`` of a process in the namespace, and their limits inside the namespace,
which only root may enter; without root, nothing is reported. Interfaces without a limit are left out, because the speed
of a link cannot be read from another namespace. Source: namespaces(7).
"""

from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec.structs import replace

from collectors.errors import ParseError
from collectors.linux import devices
from collectors.linux.namespaces import NAMESPACES, network_of
from collectors.linux.queueing import QDISCS, Shaping
from collectors.machine import Missing, Reading, Wanted
from loadtop.model import Network

MOST_SERVERS = 8  # whose namespaces are looked at


class OtherNetworks:
    """Those of one machine. Where servers are is looked at when they change, and now and then."""

    def __init__(self) -> None:
        self._servers: Mapping[int, str] = {}
        self._asked = False
        self._found: dict[str, tuple[int, str, Shaping]] = {}  # by namespace: a process there, its name

    def files(self, servers: Mapping[int, str], *, slow: bool) -> Iterator[Wanted]:
        """What the next sample is to read. ``servers`` are the first processes of those under test, and their names."""
        chosen = dict(islice(servers.items(), MOST_SERVERS))
        self._asked = bool(chosen) and (slow or chosen != self._servers)
        self._servers = chosen
        if not chosen:
            self._found = {}
        if self._asked:
            yield NAMESPACES
            yield from map(_namespaces, chosen)
        for pid, _, shaping in self._found.values():
            if shaping.may_limit:
                yield Wanted(_interfaces(pid))
            yield from shaping.files(slow=slow)

    def learn(self, reading: Reading) -> None:
        if self._asked:
            here = network_of(reading.files.get(NAMESPACES.path))
            places = {pid: network_of(reading.files.get(_namespaces(pid).path)) for pid in self._servers}
            wanted = {place: pid for pid, place in reversed(places.items()) if here and place and place != here}
            kept = {place: found for place, found in self._found.items() if wanted.get(place) == found[0]}
            taken = {name for _, name, _ in kept.values()}
            self._found = kept
            for place, pid in wanted.items():
                if place not in kept:
                    name = self._servers[pid]
                    name = f"{name}-{pid}" if name in taken else name
                    taken.add(name)
                    self._found[place] = pid, name, Shaping(f"{QDISCS}/{pid}")
        for _, _, shaping in self._found.values():
            shaping.learn(reading)

    def limited(self, reading: Reading) -> tuple[Network, ...]:
        """The interfaces with a limit, as ``eth0@web``; of several servers of one name, the others with a pid. How
        many connections there are in a namespace is not known."""
        found: list[Network] = []
        for pid, name, shaping in self._found.values():
            text = reading.files.get(_interfaces(pid), Missing("not requested"))
            if isinstance(text, Missing):
                continue
            try:
                networks = shaping.applied(devices.parse_networks(text), None)
            except ParseError:
                continue  # the process ended while it was read
            limits = (each for each in networks if each.shaped_mbit is not None or each.policed_mbit is not None)
            found += (replace(each, name=f"{each.name}@{name}") for each in limits)
        return tuple(found)


def _namespaces(pid: int) -> Wanted:
    return Wanted(f"/proc/{pid}/ns/")


def _interfaces(pid: int) -> str:
    return f"/proc/{pid}/net/dev"
