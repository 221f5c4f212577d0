"""Frames as bytes: MessagePack maps of the records' fields, compressed with zstd.

A number or a text that MessagePack cannot hold (more than 64 bits, file names that are not UTF-8) makes the whole frame
JSON instead. What an older program did not measure gets the default of its field.

A file can come from any source: everything that is decoded is bounded before memory is taken for it.
"""

import json
import re
from functools import cache
from typing import Annotated, Any, TypedDict

import msgspec
import zstandard
from msgspec.structs import replace

from loadtop.model import MAX_HOSTS, Distribution, Frame, HostState, Latencies
from loadtop.model.histogram import BUCKETS
from loadtop.recording.container import MAX_SECONDS, MAX_UNIX_TIME
from loadtop.servers.registry import KINDS

LEVEL = 5
"""Of zstd. On made frames of 5 hosts, level 3 takes 4 % more room for half the time, level 6 saves 3 % for twice the
time."""

MAX_MESSAGE = 2 << 20  # bytes of one frame before compression; 5 hosts with 200 processes each take about 0.1 MB
BLOCK_FRAMES = 128  # frames in a block; 64 take 5 % more room; of 256, any frame takes twice as long to reach
BLOCK_BYTES = 8 << 20  # bytes of a block before compression from which it ends early
MAX_BLOCK = BLOCK_BYTES + MAX_MESSAGE
MAX_TOTALS = 8 << 20  # bytes of the totals before compression; a day of 5 hosts takes about 5 MB
MAX_RATIO = 1000  # bytes that zstd may have made one of; of an idle machine that hardly changes it makes one of 300

MAX_LOAD, MAX_MARKS = 1 << 19, 1 << 16  # bytes of a frame's load and marks: a byte of them can take 30 in memory
MAX_PROFILES = 1 << 19  # bytes of a frame's profiles: each has 64 kB at most
MAX_JSON_VALUES = 600_000  # in one JSON text: each takes up to 60 bytes in memory
MAX_JSON_LISTS = 100_000  # lists and objects in it

UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, zstandard.ZstdError)
"""What decoding damaged or hostile bytes raises."""

_LONG_NUMBER = re.compile(rb"\d{300}")  # it would have no place in a float
_HISTOGRAMS = Latencies.__struct_fields__


class DamagedError(Exception):
    """Something in the file contradicts its checksum or itself."""


def compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL).compress(data)


def decompress(data: bytes, most: int) -> bytes:
    """Return what was compressed. Raises DamagedError where that is not said to be at most ``most`` bytes."""
    try:
        size = zstandard.get_frame_parameters(data).content_size
        if size > most:
            raise DamagedError(f"it would unpack to more than {most >> 20} MB")
        if size > MAX_RATIO * len(data):
            raise DamagedError(f"it would unpack to more than {MAX_RATIO} times its size")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=most)
    except zstandard.ZstdError as error:
        raise DamagedError("it cannot be unpacked") from error


def encode(frame: Frame) -> bytes:
    """Return the frame of a snapshot (which has no secrets) as a message: the frame less the readings of servers, and
    those by host.

    One that would be too large to be read again is without its processes.
    """
    message = _encoded(frame)
    if len(message) <= MAX_MESSAGE:
        return message
    return _encoded(replace(frame, hosts=tuple(_with(host, processes=None) for host in frame.hosts)))


def _encoded(frame: Frame) -> bytes:
    servers = [None if host.sample is None else host.sample.servers for host in frame.hosts]
    parts = replace(frame, hosts=tuple(_with(host, servers={}) for host in frame.hosts)), servers
    try:
        return msgspec.msgpack.encode(parts)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(msgspec.to_builtins(parts)).encode()


class _Parts(msgspec.Struct):
    """The parts of a frame that may hold rows of numbers or texts, not decoded."""

    load: msgspec.Raw = msgspec.Raw()
    marks: msgspec.Raw = msgspec.Raw()
    profiles: msgspec.Raw = msgspec.Raw()
    hosts: msgspec.Raw = msgspec.Raw(b"\x90")


_PARTS = msgspec.msgpack.Decoder(tuple[_Parts, msgspec.Raw])
_FEW_HOSTS = msgspec.msgpack.Decoder(Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MAX_HOSTS)])
_HOST_IN_JSON = b'"fresh":'
_TOO_MANY_HOSTS = f"it has more than {MAX_HOSTS} machines"


def decode(message: bytes | memoryview) -> Frame:
    """Return the frame of a message. Raises DamagedError."""
    try:
        if message[:1] == b"[":
            text = bytes(message)
            if text.count(_HOST_IN_JSON) > MAX_HOSTS:
                raise ValueError(_TOO_MANY_HOSTS)
            parts: tuple[Frame, tuple[Any, ...]] = msgspec.convert(loads(text), _decoder().type)
        else:
            _check_size(message)
            parts = _decoder().decode(message)
        frame, servers = parts
        _check(frame)
        pairs = zip(frame.hosts, servers, strict=True)
        return replace(frame, hosts=tuple(_with(host, servers=readings or {}) for host, readings in pairs))
    except UNREADABLE as error:
        raise DamagedError(f"a frame cannot be read ({error})") from error


def _check_size(message: bytes | memoryview) -> None:
    parts, _ = _PARTS.decode(message)
    bounds = ((parts.load, MAX_LOAD), (parts.marks, MAX_MARKS), (parts.profiles, MAX_PROFILES))
    if any(memoryview(part).nbytes > most for part, most in bounds):
        raise ValueError("it has too many parts")
    try:
        _FEW_HOSTS.decode(parts.hosts)
    except msgspec.ValidationError:
        raise ValueError(_TOO_MANY_HOSTS) from None


def loads(data: bytes | str) -> Any:
    """Return what a JSON text says. Raises ValueError, also for more than could have been written."""
    text = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    if text.count(b",") > MAX_JSON_VALUES or text.count(b"[") + text.count(b"{") > MAX_JSON_LISTS:
        raise ValueError("it has too many parts")
    if _LONG_NUMBER.search(text):
        raise ValueError("it has a number of more than 300 digits")
    return json.loads(data)


def _check(frame: Frame) -> None:
    """Raise ValueError for what no test can have measured, and what would take no end of time or memory."""
    if not (0 <= frame.at <= MAX_SECONDS and 0 <= frame.wall <= MAX_UNIX_TIME):
        raise ValueError("its time is invalid")
    if len(frame.hosts) > MAX_HOSTS:
        raise ValueError(_TOO_MANY_HOSTS)
    latencies = None if frame.load is None else frame.load.latencies
    for name in () if latencies is None else _HISTOGRAMS:
        values: Distribution | None = getattr(latencies, name)
        if values is not None and not _is_possible(values):
            raise ValueError("a histogram is invalid")


def _is_possible(values: Distribution) -> bool:
    buckets = values.buckets
    return len(buckets) == len(values.counts) and (not buckets or (min(buckets) >= 0 and max(buckets) < BUCKETS))


def _with(host: HostState, **parts: Any) -> HostState:
    """Return the host with other parts of its sample, where it has one."""
    return host if host.sample is None else replace(host, sample=replace(host.sample, **parts))


@cache
def _decoder() -> "msgspec.msgpack.Decoder[tuple[Frame, tuple[Any, ...]]]":
    """Return the decoder of messages. Readings are of the types that the kinds of servers declare."""
    typed_dict: Any = TypedDict
    readings = {kind.name: tuple.__class_getitem__((kind.record, ...)) for kind in KINDS}
    servers: Any = typed_dict("Servers", readings, total=False)
    return msgspec.msgpack.Decoder(tuple[Frame, tuple[servers | None, ...]])
