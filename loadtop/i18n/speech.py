"""Which language is spoken, and translation by catalogue."""

import importlib
import re
from collections.abc import Mapping
from functools import lru_cache

LANGUAGES = ("en", "ja")


class _Speech:
    """The language of this process."""

    def __init__(self) -> None:
        self.language = "en"
        self.screen: Mapping[str, str] = {}
        self.templates: Mapping[str, str] = {}
        self.messages: list[tuple[re.Pattern[str], str]] = []
        self.items: list[tuple[re.Pattern[str], str]] = []


_SPEECH = _Speech()
_STOPS = {".": "。", ". ": "。"}
_PARTS = re.compile(r"(, |; )")
_PLACE = re.compile(r"\{(\w+)\}")


def language_of(environment: Mapping[str, str]) -> str:
    """The language that the locale asks for (LC_ALL, LC_MESSAGES, LANG: the first that is set); English where this
    program does not speak it."""
    asked = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    code = asked.partition("_")[0].partition(".")[0].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    """The language spoken now."""
    return _SPEECH.language


def speak(code: str) -> None:
    """From now on speak this one of :data:`LANGUAGES`."""
    _SPEECH.language = code
    _SPEECH.screen, _SPEECH.templates, _SPEECH.messages, _SPEECH.items = {}, {}, [], []
    if code != "en":
        catalogue = importlib.import_module(f"loadtop.i18n.{code}")
        _SPEECH.screen = catalogue.SCREEN
        _SPEECH.templates = {**catalogue.ITEMS, **catalogue.MESSAGES, **catalogue.SCREEN}
        _SPEECH.messages, _SPEECH.items = _patterns(catalogue.MESSAGES), _patterns(catalogue.ITEMS)
    translated.cache_clear()


def template_in_language(english: str) -> str:
    """Return the template in the language that is set, in English if it has no translation."""
    return _SPEECH.templates.get(english, english)


@lru_cache(maxsize=1024)
def translated(text: str) -> str:
    """A text that was made in English elsewhere, with its figures filled in already; what is not known stays."""
    if not _SPEECH.messages:
        return text
    if not any(character.isalpha() for character in text):
        return _STOPS.get(text, text)
    if text in _SPEECH.screen:
        return _SPEECH.screen[text]
    for pattern, target in _SPEECH.messages:
        found = pattern.search(text)
        if found is not None:
            values = {name: _value(value) for name, value in found.groupdict().items()}
            return translated(text[: found.start()]) + target.format(**values) + translated(text[found.end() :])
    return text


def itemised(text: str) -> str:
    """A list that was made in English elsewhere, its items parted by commas or semicolons: each that is known whole is
    translated, any other stays."""
    if not _SPEECH.items:
        return text
    whole = _item(text)
    return whole if whole != text else "".join(_item(part) for part in _PARTS.split(text))


def _item(text: str) -> str:
    for pattern, target in _SPEECH.items:
        found = pattern.fullmatch(text)
        if found is not None and not any(map(_PARTS.search, found.groups())):
            return target.format(**{name: _item(value) for name, value in found.groupdict().items()})
    return text


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
