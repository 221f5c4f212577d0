"""Frames as bytes: MessagePack maps of the records' fields, compressed with zstd.

A number or a text that MessagePack cannot hold (more than 64 bits, file names that are not UTF-8) makes the whole frame
JSON instead. What an older program did not measure gets the default of its field.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from operator import is_
from typing import Any, TypeVar, cast, get_args, get_type_hints

import msgspec
import zstandard

from loadtop.i18n.message import Message, Parameter
from loadtop.model import Frame, HostSample, HostState, LoadSample
from loadtop.model.secrets import url_without_secrets
from loadtop.model.server import ServerReading
from loadtop.servers.registry import KINDS

Readings = Mapping[str, tuple[ServerReading, ...]]

LEVEL = 5
"""Of zstd. On made frames of 5 hosts, level 3 takes 4 % more room for half the time, level 6 saves 3 % for twice the
time."""

MAX_MESSAGE = 16 << 20
"""Bytes of one frame before compression. 5 hosts with 200 processes each take about 0.1 MB."""

BLOCK_FRAMES = 128
"""Frames in a block. 64 take 5 % more room; of 256, any frame takes twice as long to reach."""

BLOCK_BYTES = 8 << 20
"""Bytes of a block before compression from which it ends early."""

MAX_BLOCK = BLOCK_BYTES + MAX_MESSAGE

MAX_TOTALS = 64 << 20
"""Bytes of the totals before compression. A day of 5 hosts takes about 5 MB."""

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


_encoder = msgspec.msgpack.Encoder()


def encode(frame: Frame) -> bytes:
    """Return the frame without secrets as a message: the frame less the readings of servers, and those by host."""
    clean = _without_secrets(frame)
    servers = [None if host.sample is None else host.sample.servers for host in clean.hosts]
    parts = replace(clean, hosts=tuple(_with_servers(host, {}) for host in clean.hosts)), servers
    try:
        return _encoder.encode(parts)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(msgspec.to_builtins(parts)).encode()


def decode(message: bytes) -> Frame:
    """Return the frame of a message. Raises DamagedError."""
    try:
        parts: tuple[Frame, tuple[Any, ...]] = (
            msgspec.convert(json.loads(message), _message_type()) if message[:1] == b"[" else _decoder().decode(message)
        )
        frame, servers = parts
        pairs = zip(frame.hosts, servers, strict=True)
        return replace(frame, hosts=tuple(_with_servers(host, _readings(found)) for host, found in pairs))
    except UNREADABLE as error:
        raise DamagedError(f"a frame cannot be read ({error})") from error


def _with_servers(host: HostState, servers: Readings) -> HostState:
    return host if host.sample is None else replace(host, sample=replace(host.sample, servers=servers))


def _readings(found: Any) -> Readings:
    known = {} if found is None else {kind.name: getattr(found, kind.record.__name__) for kind in KINDS}
    return {name: readings for name, readings in known.items() if readings is not None}


@cache
def _message_type() -> Any:
    """Return the type of a message. Readings are of the types that the kinds of servers declare."""
    readings: dict[str, Any] = {kind.record.__name__: tuple.__class_getitem__((kind.record, ...)) for kind in KINDS}
    names = [msgspec.field(default=None, name=kind.name) for kind in KINDS]
    kinds = [(name, hint | None, field) for (name, hint), field in zip(readings.items(), names, strict=True)]
    servers: Any = msgspec.defstruct("Servers", kinds)
    return tuple[Frame, tuple[servers | None, ...]]


@cache
def _decoder() -> "msgspec.msgpack.Decoder[Any]":
    return msgspec.msgpack.Decoder(_message_type())


Record = TypeVar("Record")


def _without_secrets(frame: Frame) -> Frame:
    load = None if frame.load is None else _clean_load(frame.load)
    marks = _all(frame.marks, url_without_secrets)
    return _changed(frame, marks=marks, load=load, hosts=_all(frame.hosts, _clean_host))


def _clean_load(load: LoadSample) -> LoadSample:
    load = _clean(load)
    return _changed(load, server=_clean(load.server), workers=_all(load.workers, _clean))


def _clean_host(host: HostState) -> HostState:
    host = _clean(host)
    return host if host.sample is None else _changed(host, sample=_clean_sample(host.sample))


def _clean_sample(sample: HostSample) -> HostSample:
    servers = {kind: _all(readings, _clean) for kind, readings in sample.servers.items()}
    same = all(readings is sample.servers[kind] for kind, readings in servers.items())
    return _changed(
        sample,
        facts=_clean(sample.facts),
        cgroup=_clean(sample.cgroup),
        outcomes=_all(sample.outcomes, _clean),
        servers=sample.servers if same else servers,
    )


def _changed(record: Record, **parts: Any) -> Record:
    """Return the record with these parts, the same one where they are the same."""
    same = all(part is getattr(record, name) for name, part in parts.items())
    return record if same else replace(cast("Any", record), **parts)


def _all(records: tuple[Record, ...], clean: Callable[[Record], Record]) -> tuple[Record, ...]:
    """Return the same tuple where nothing was to be removed."""
    cleaned = tuple(map(clean, records))
    return records if all(map(is_, cleaned, records)) else cleaned


def _clean(record: Record) -> Record:
    """Return the record with the secrets in its own texts blanked, or the same one."""
    texts = {name: getattr(record, name) for name in _texts(cast("Any", type(record)))}
    clean = {name: _clean_text(text) for name, text in texts.items()}
    return record if clean == texts else replace(cast("Any", record), **clean)


def _clean_text(text: str | Message) -> str | Message:
    if isinstance(text, str):
        return url_without_secrets(text)
    params = {name: _clean_parameter(value) for name, value in text.params}
    return text if params == dict(text.params) else Message(text.template, many=text.many, **params)


def _clean_parameter(value: Parameter) -> Parameter:
    if isinstance(value, tuple):
        return tuple(cast("Message", _clean_text(each)) for each in value)
    return _clean_text(value) if isinstance(value, (str, Message)) else value


@cache
def _texts(record: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields that hold texts of people, servers or configurations."""
    hints = get_type_hints(record).items()
    return tuple(name for name, hint in hints if str in (hint, *get_args(hint)) or Message in (hint, *get_args(hint)))
