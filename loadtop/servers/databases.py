"""What the kinds of databases and caches share."""

from collections.abc import Iterator, Sequence
from typing import Any

from loadtop.i18n import Message, Text, Translatable, listed, plain, tr
from loadtop.model.server import ServiceReading
from loadtop.rates.records import ServerRates


def seen(servers: Sequence[ServiceReading]) -> Text:
    return listed(
        [
            Message(
                "{version}, {setting} {limit} ({address})",
                version=each.version or "-",
                setting=each.setting,
                limit="-" if each.configured is None else each.configured,
                address=each.address,
            )
            for each in servers
        ]
    )


def brief(template: Translatable, field: str, servers: Sequence[ServerRates[Any]]) -> str:
    """The sessions at work, by that field, and those that wait for locks: for the line per interval."""
    known = [number for each in servers if (number := getattr(each.reading, field)) is not None]
    waits = sum(each.reading.lock_waits or 0 for each in servers)
    locked = tr(" lock waits {number}", number=waits) if waits else ""
    return tr(template, **{field: sum(known)}) + locked if known else ""


def settings(kind: str, servers: Sequence[ServiceReading]) -> Iterator[tuple[str, str]]:
    for each in servers:
        if each.configured is not None:
            yield f"{kind} {plain(each.address)} {each.setting}", str(each.configured)
