"""What a control group may read from and write to a device, and how much it has; version 1 and 2.

Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (``io.max``, ``io.stat``) and cgroup-v1/blkio-controller.rst
(``blkio.throttle.*``). A limit holds for all below its group together, so that of each ancestor counts with its own
counters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from collectors.linux.devices import DISKSTATS
from collectors.machine import Reading
from collectors.parsing import MOST_DEVICES, complete_lines, count_or_none, short
from loadtop.model import IoLimit, Limited

MOST_LIMITS = 16  # of one server
_THROTTLE = "blkio.throttle."
_LINE_LENGTH = 4096


class _Names(NamedTuple):
    """What one limit is called: in ``io.max``, and its counter in ``io.stat``; then in version 1 the file with the
    limit, that with the counter, and the word of its lines."""

    most: str
    done: str
    most_file: str
    done_file: str
    word: str


_NAMES = {
    Limited.READS: _Names("riops", "rios", "read_iops_device", "io_serviced", "Read"),
    Limited.WRITES: _Names("wiops", "wios", "write_iops_device", "io_serviced", "Write"),
    Limited.READ_BYTES: _Names("rbps", "rbytes", "read_bps_device", "io_service_bytes", "Read"),
    Limited.WRITTEN_BYTES: _Names("wbps", "wbytes", "write_bps_device", "io_service_bytes", "Write"),
}
_OLDER = tuple(dict.fromkeys(name for names in _NAMES.values() for name in (names.most_file, names.done_file)))
FILES = {1: tuple(f"{_THROTTLE}{name}" for name in _OLDER), 2: ("io.max", "io.stat")}

_Figures = Mapping[tuple[str, Limited], int]  # by the number of a device and what is limited


def read_limits(reading: Reading, directories: Iterable[str], version: int) -> tuple[IoLimit, ...]:
    """The limits of a group and its ancestors, from their :data:`FILES`. A limit without a counter is left out."""
    found = tuple(islice(_limits(reading, directories, version), MOST_LIMITS))
    names = _names((reading.optional(DISKSTATS) or "") if found else "")
    return tuple(replace(each, device=names.get(each.device, each.device)) for each in found)


def _limits(reading: Reading, directories: Iterable[str], version: int) -> Iterator[IoLimit]:
    """The limits with the numbers of their devices."""
    for directory in directories:
        most, done = _newer(reading, directory) if version == 2 else _older(reading, directory)
        for (number, limited), limit in most.items():
            counter = done.get((number, limited))
            if limit > 0 and counter is not None:
                yield IoLimit(number, directory, limited, limit, counter)


def _newer(reading: Reading, directory: str) -> tuple[_Figures, _Figures]:
    def figures(rows: Mapping[str, Mapping[str, int]], name_of: Callable[[_Names], str]) -> _Figures:
        return {
            (number, limited): row[name_of(names)]
            for number, row in rows.items()
            for limited, names in _NAMES.items()
            if name_of(names) in row
        }

    most, done = (_pairs(reading.optional(f"{directory}/{name}") or "") for name in FILES[2])
    return figures(most, attrgetter("most")), figures(done, attrgetter("done"))


def _older(reading: Reading, directory: str) -> tuple[_Figures, _Figures]:
    lines = {
        name: [line.split() for line in _rows(reading.optional(f"{directory}/{_THROTTLE}{name}") or "")]
        for name in _OLDER
    }
    most, done = dict[tuple[str, Limited], int](), dict[tuple[str, Limited], int]()
    for limited, names in _NAMES.items():
        for words in lines[names.most_file]:
            if len(words) == 2 and (limit := count_or_none(words[1])) is not None:
                most[words[0], limited] = limit
        for words in lines[names.done_file]:
            if len(words) == 3 and words[1] == names.word and (counter := count_or_none(words[2])) is not None:
                done[words[0], limited] = counter
    return most, done


def _pairs(text: str) -> Mapping[str, Mapping[str, int]]:
    """The numbers of lines of ``MAJ:MIN NAME=NUMBER ...`` by device and name; ``max`` is none. Linux 5.15 writes
    devices that were never used without an end of line, before the next."""
    found = defaultdict[str, dict[str, int]](dict)
    for line in _rows(text):
        device = ""
        for word in line.split():
            name, equals, value = word.partition("=")
            if not equals:
                device = short(word)
            elif device and (figure := count_or_none(value)) is not None:
                found[device][name] = figure
    return found


def _rows(text: str) -> Iterator[str]:
    """The lines; of one that is too long, its whole words."""
    for line in islice(complete_lines(text), MOST_DEVICES):
        if line.strip():
            yield line if len(line) <= _LINE_LENGTH else line[:_LINE_LENGTH].rpartition(" ")[0]


def _names(diskstats: str) -> Mapping[str, str]:
    """The names of devices by their numbers."""
    rows = (line.split(None, 3) for line in islice(complete_lines(diskstats), MOST_DEVICES))
    return {f"{row[0]}:{row[1]}": short(row[2]) for row in rows if len(row) > 3}
