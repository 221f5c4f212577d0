"""What the kinds of databases and caches share."""

from collections.abc import Iterator, Sequence

from loadtop.i18n import Message, Text, listed, plain
from loadtop.model.server import ServiceReading


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


def settings(kind: str, servers: Sequence[ServiceReading]) -> Iterator[tuple[str, str]]:
    for each in servers:
        if each.configured is not None:
            yield f"{kind} {plain(each.address)} {each.setting}", str(each.configured)
