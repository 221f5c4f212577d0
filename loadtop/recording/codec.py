"""Frames as bytes: MessagePack maps of the records' fields, compressed with zstd.

A number or a text that MessagePack cannot hold (more than 64 bits, file names that are not UTF-8) makes the whole frame
JSON instead. What an older program did not measure gets the default of its field.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import is_
from typing import Any, TypedDict, cast, get_args, get_type_hints

import msgspec
import zstandard

from loadtop.i18n import Message
from loadtop.model import Disk, Frame, HostState, Network, Process
from loadtop.model.secrets import url_without_secrets
from loadtop.model.server import ServerReading
from loadtop.servers.registry import KINDS

LEVEL = 5
"""Of zstd. On made frames of 5 hosts, level 3 takes 4 % more room for half the time, level 6 saves 3 % for twice the
time."""

MAX_MESSAGE = 16 << 20  # bytes of one frame before compression; 5 hosts with 200 processes each take about 0.1 MB
BLOCK_FRAMES = 128  # frames in a block; 64 take 5 % more room; of 256, any frame takes twice as long to reach
BLOCK_BYTES = 8 << 20  # bytes of a block before compression from which it ends early
MAX_BLOCK = BLOCK_BYTES + MAX_MESSAGE
MAX_TOTALS = 64 << 20  # bytes of the totals before compression; a day of 5 hosts takes about 5 MB

NAMED_BY_KERNEL = (Disk, Network, Process)  # their only text is a short name; a frame has hundreds of them

UNREADABLE = (ValueError, TypeError, LookupError, RecursionError, zstandard.ZstdError)
"""What decoding damaged or hostile bytes raises."""


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
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=most)
    except zstandard.ZstdError as error:
        raise DamagedError("it cannot be unpacked") from error


def encode(frame: Frame) -> bytes:
    """Return the frame without secrets as a message: the frame less the readings of servers, and those by host."""
    clean = blanked(frame)
    servers = [None if host.sample is None else host.sample.servers for host in clean.hosts]
    parts = replace(clean, hosts=tuple(_with_servers(host, {}) for host in clean.hosts)), servers
    try:
        return msgspec.msgpack.encode(parts)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(msgspec.to_builtins(parts)).encode()


def decode(message: bytes) -> Frame:
    """Return the frame of a message. Raises DamagedError."""
    decoder = _decoder()
    try:
        frame, servers = (
            msgspec.convert(json.loads(message), decoder.type) if message[:1] == b"[" else decoder.decode(message)
        )
        pairs = zip(frame.hosts, servers, strict=True)
        return replace(frame, hosts=tuple(_with_servers(host, readings or {}) for host, readings in pairs))
    except UNREADABLE as error:
        raise DamagedError(f"a frame cannot be read ({error})") from error


def _with_servers(host: HostState, servers: Mapping[str, tuple[ServerReading, ...]]) -> HostState:
    return host if host.sample is None else replace(host, sample=replace(host.sample, servers=servers))


@cache
def _decoder() -> "msgspec.msgpack.Decoder[tuple[Frame, tuple[Any, ...]]]":
    """Return the decoder of messages. Readings are of the types that the kinds of servers declare."""
    typed_dict: Any = TypedDict
    readings = {kind.name: tuple.__class_getitem__((kind.record, ...)) for kind in KINDS}
    servers: Any = typed_dict("Servers", readings, total=False)
    return msgspec.msgpack.Decoder(tuple[Frame, tuple[servers | None, ...]])


def blanked(value: Any) -> Any:
    """Return records or plain data with the secrets in their texts blanked, the same object where there are none.

    Keys are left as they are, and so are :data:`NAMED_BY_KERNEL`.
    """
    if isinstance(value, str):
        return url_without_secrets(value)
    if isinstance(value, Message):
        given = dict(value.params)
        params = blanked(given)
        return value if params is given else Message(value.template, value.many, **params)
    if isinstance(value, (tuple, list)):
        before = cast("Sequence[Any]", value)
        items = tuple(map(blanked, before))
        return before if all(map(is_, items, before)) else items
    if hasattr(value, "__dataclass_fields__"):
        texts = [(name, getattr(value, name)) for name in _texts(value.__class__)]
        clean = {name: after for name, text in texts if (after := blanked(text)) is not text}
        return replace(value, **clean) if clean else value
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        members = {key: blanked(each) for key, each in mapping.items()}
        return mapping if all(members[key] is each for key, each in mapping.items()) else members
    return value


@cache
def _texts(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record that may hold texts."""
    return tuple(name for name, hint in get_type_hints(record).items() if _may_hold_text(hint))


def _may_hold_text(hint: Any) -> bool:
    if hasattr(hint, "__dataclass_fields__") and hint is not Message:
        return hint not in NAMED_BY_KERNEL and bool(_texts(hint))
    return hint in (str, Message) or any(map(_may_hold_text, get_args(hint)))
