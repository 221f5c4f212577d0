"""Translation of finished English sentences, until every text is a Message."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from loadtop.i18n import ja_messages
from loadtop.i18n.ja_doctor import ITEMS, TROUBLES
from loadtop.i18n.ja_pages import REASONS
from loadtop.i18n.language import language, translate

_STOPS = {".": "。", ". ": "。"}
_PARTS = re.compile(r"(, |; )")
_PLACE = re.compile(r"\{(\w+)\}")


def translated(text: str) -> str:
    """A text that was made in English elsewhere, with its figures filled in already; what is not known stays."""
    return text if language() == "en" else _translated(text)


@lru_cache(maxsize=1024)
def _translated(text: str) -> str:
    if not any(character.isalpha() for character in text):
        return _STOPS.get(text, text)
    if translate(text) != text:
        return translate(text)
    for pattern, target in _messages():
        found = pattern.search(text)
        if found is not None:
            values = {name: _value(value) for name, value in found.groupdict().items()}
            return translated(text[: found.start()]) + target.format(**values) + translated(text[found.end() :])
    return text


def itemised(text: str) -> str:
    """A list that was made in English elsewhere, its items parted by commas or semicolons: each that is known whole is
    translated, any other stays."""
    if language() == "en":
        return text
    whole = _item(text)
    return whole if whole != text else "".join(_item(part) for part in _PARTS.split(text))


def _item(text: str) -> str:
    for pattern, target in _items():
        found = pattern.fullmatch(text)
        if found is not None and not any(map(_PARTS.search, found.groups())):
            return target.format(**{name: _item(value) for name, value in found.groupdict().items()})
    return text


@cache
def _messages() -> list[tuple[re.Pattern[str], str]]:
    return _patterns({**ja_messages.MESSAGES, **REASONS, **TROUBLES})


@cache
def _items() -> list[tuple[re.Pattern[str], str]]:
    return _patterns(ITEMS)


def _patterns(catalogue: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    """Those with the most words first."""
    by_length = sorted(catalogue, key=lambda text: -len(_PLACE.sub("", text)))
    return [(_pattern(text), catalogue[text]) for text in by_length]


def _value(value: str) -> str:
    """A value is a figure or a name, or, where it has blanks, perhaps a text of its own."""
    return translated(value) if " " in value else value


def _pattern(text: str) -> re.Pattern[str]:
    """Finds this text with anything in its places; at its end one word is taken, or for ``why`` all that is left."""
    parts = _PLACE.split(text)
    found = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 2 and not parts[-1]
        if index % 2 == 0:
            found += re.escape(part)
        elif last:
            found += "(?P<why>.+)" if part == "why" else rf"(?P<{part}>\S+?)(?=[\s,.;:()]|$)"
        else:
            found += f"(?P<{part}>.+?)"
    return re.compile(found, re.DOTALL)
