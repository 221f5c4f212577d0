"""Texts for people: a template and its parameters, put together in the reader's language where they are shown.

    Message("{host} does not answer within {seconds:.0f} s", host=name, seconds=5.0)
    plural(number, "{n} worker", "{n} workers")
    sentences(advice, hint_or_none)         # joined as the language joins sentences; None is left out
    listed(["eth0", Message("swap traffic")])
    verbatim(stderr_line)                   # another program's text: never translated

``str(message)`` is English, for JSON and recordings; ``rendered(message)`` is for people; ``tr`` is for texts that are
shown at once. What has no translation is shown in English. A template is a literal at the place of the call, so that
the catalogue of translations can be extracted (``make catalog``).

Parameters are strings (names, paths: never translated), numbers, other messages, a tuple of messages (shown as a
list), or None (shown as nothing: an optional clause). A place is ``{name}`` or ``{name:FORMAT}`` with the formats
``,``, ``.1f``, ``.2g``, ``.0%``; ``{{`` and ``}}`` are braces.

The catalogue (gettext) of a language is ``locale/<language>/LC_MESSAGES/loadtop.po``. A wheel holds it compiled (.mo)
and needs no more than Python; in a checkout it is compiled by Babel when the .po file is newer.
"""

import contextlib
import gettext
import importlib.util
import io
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import Any, TypeAlias

from loadtop.i18n.outside import MAX_TEXT
from loadtop.i18n.outside import plain as plain

LANGUAGES = ("en", "ja")
_LOCALE = Path(__file__).parent / "locale"
MAX_DEPTH = 12  # messages within messages
_MAX_INTEGER = 2**63
_FORMAT = re.compile(r"|d|\.\d[fg%]|groups|sentences")

_Translate: TypeAlias = Callable[[str, str, int], str]
_Escape: TypeAlias = Callable[[str], str]
Translatable: TypeAlias = str
"""A text that :func:`tr` is given later. The catalogue takes the literals of variables, tables and fields of this type:
``TITLES: dict[str, Translatable] = {...}``, ``label: Translatable`` in a class."""
Parameter: TypeAlias = "str | int | float | Message | tuple[Message, ...] | None"


class _Current:
    language = "en"
    catalogue = gettext.NullTranslations()


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language of the locale (the first of LC_ALL, LC_MESSAGES, LANG that is set), or English."""
    locale = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    code = locale.partition("_")[0].partition(".")[0].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    return _Current.language


def set_language(code: str) -> None:
    """Set one of :data:`LANGUAGES` for everything that is rendered from now on."""
    _Current.catalogue = gettext.NullTranslations() if code == "en" else _catalogue(_LOCALE / code / "LC_MESSAGES")
    _Current.language = code


def translate(template: str, many: str = "", n: int = 1) -> str:
    """Return the template in the language that is set, or in English if it has no translation."""
    if many:
        return _Current.catalogue.ngettext(template, many, n)
    return _Current.catalogue.gettext(template) if template else ""  # gettext has its header under the empty text


def _catalogue(folder: Path) -> gettext.NullTranslations:
    source, compiled = folder / "loadtop.po", folder / "loadtop.mo"
    stale = source.exists() and not (compiled.exists() and compiled.stat().st_mtime_ns >= source.stat().st_mtime_ns)
    if stale and importlib.util.find_spec("babel"):
        return gettext.GNUTranslations(io.BytesIO(_compile(source, compiled)))
    with compiled.open("rb") as file:
        return gettext.GNUTranslations(file)


def _compile(source: Path, target: Path) -> bytes:
    """Compile a catalogue of a checkout, and keep the result for the next start where the directory can be written."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file))
    written = target.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        written.write_bytes(compiled.getvalue())
        written.replace(target)  # at once: other processes may start now
    return compiled.getvalue()


def width(text: str) -> int:
    """Return the cells that ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Return ``text`` filled with blanks up to ``cells`` cells, at its end or (``right``) before it."""
    blanks = " " * max(0, cells - width(text))
    return blanks + text if right else text + blanks


@lru_cache(maxsize=256)
def folded(text: str, cells: int) -> tuple[str, ...]:
    """Return ``text`` in lines of at most ``cells`` cells, which end after a blank or between East Asian characters.

    A longer word stays whole. Nothing is left out: together the lines are the text.
    """
    lines, used = [""], 0
    for piece in _PIECES.findall(text):
        taken = width(piece)
        if used and used + taken - piece.endswith(" ") > cells:
            lines.append("")
            used = 0
        lines[-1] += piece
        used += taken
    return tuple(lines)


_WIDE = "\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_OPEN, _CLOSE = "\uff08\u300c", "\u3001\u3002\uff09\u300d"
_PIECES = re.compile(rf"[{_OPEN}]{{0,9}}(?:[^\s{_WIDE}]{{1,999}}|\S)[{_CLOSE}]{{0,9}} ?|\s")
"""What stays together at the end of a line: words, or single characters of scripts without blanks, with opening
brackets before and full stops, commas or closing brackets after them."""


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True, init=False)
class Message:
    """``many`` is the template for every number ``n`` but 1 (:func:`plural`). ``params`` are sorted by name.

    :raises ValueError: for a place without its parameter, an unknown format, or more than :data:`MAX_DEPTH` messages
        nested in each other
    """

    template: str
    params: "tuple[tuple[str, str | int | float | Message | tuple[Message, ...] | None], ...]" = ()
    many: str = ""

    def __init__(self, template: str, many: str = "", /, **params: Parameter) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "params", tuple(sorted(params.items())) if params else ())
        object.__setattr__(self, "many", many)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Refuse what could not be shown; msgspec calls this too."""
        names = _names(self.template) | _names(self.many) if self.many else _names(self.template)
        lacking = names.difference(name for name, _ in self.params)
        if lacking:
            raise ValueError(f"no value for {sorted(lacking)} in {self.template!r}")
        for name, value in self.params:
            if isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
                raise ValueError(f"the value of {{{name}}} is too large")
            if isinstance(value, Message | tuple) and self.depth > MAX_DEPTH:
                raise ValueError("messages are nested too deeply")

    @property
    def depth(self) -> int:
        """The nesting depth of messages, counting this one."""
        values = [value if isinstance(value, tuple) else (value,) for _, value in self.params]
        return 1 + max((part.depth for parts in values for part in parts if isinstance(part, Message)), default=0)

    def __str__(self) -> str:
        return self.filled(_english, str)

    def render(self, escape: _Escape = plain) -> str:
        """Return the text in the language that is set; ``escape`` makes its strings safe to print."""
        return self.filled(translate, escape)

    def filled(self, translate: _Translate, escape: _Escape) -> str:
        values = dict(self.params)
        n = values.get("n")
        template = translate(self.template, self.many, n if isinstance(n, int) else 0)
        shown: dict[tuple[str, str], str] = {}
        text = ""
        for literal, name, form in _pieces(template):
            if (name, form) not in shown:
                shown[name, form] = _shown(values.get(name), form, translate, escape)
            text += (literal if literal.isprintable() else escape(literal)) + shown[name, form]
            if len(text) > MAX_TEXT:
                return text[:MAX_TEXT]
        return text


Text: TypeAlias = Message | str
"""A message, or another program's text: a string is escaped where it is shown, but never translated."""


class TranslatableEnum(StrEnum):
    """An enumeration with displayed values: :func:`tr` is given them."""


class MessageError(Exception):
    """An error whose text is a :class:`Message`, given as such or as its template and parameters."""

    def __init__(self, message: Message | str, /, **params: Parameter) -> None:
        self.message = Message(message, **params) if isinstance(message, str) else message
        super().__init__(self.message)


def plural(n: int, one: str, many: str, /, **params: Parameter) -> Message:
    """Return a message for ``n`` things; both templates may have ``{n}``."""
    return Message(one, many, n=n, **params)


def verbatim(text: str) -> Message:
    """Return another program's text as a message that is never translated."""
    return Message("{text}", text=text)


def sentences(first: Message, *more: Message | None) -> Message:
    """Return sentences one after the other; those that are None are left out."""
    parts = (first, *(part for part in more if part is not None))
    return first if len(parts) == 1 else Message("{parts:sentences}", parts=parts)


def listed(items: Iterable[Message | str]) -> Message:
    """Return a list, parted by commas; strings stand as they are."""
    parts = tuple(verbatim(item) if isinstance(item, str) else item for item in items)
    return parts[0] if len(parts) == 1 else Message("{parts}", parts=parts)


def grouped(items: Iterable[Message]) -> Text:
    """Return a list of things that have commas themselves, parted by semicolons; empty if there is none."""
    parts = tuple(items)
    return Message("{parts:groups}", parts=parts) if parts else ""


_JOINTS: dict[str, Translatable] = {
    "": "{first}, {second}",
    "groups": "{first}; {second}",
    "sentences": "{first} {second}",
}


def tr(english: str, /, **values: object) -> str:
    """Return a text of this program in the language that is set; ``values`` take the places in braces."""
    text = translate(english)
    if not values:
        return text
    return text.format(**{name: _filled(value) for name, value in values.items()})


def _filled(value: object) -> object:
    if isinstance(value, Message):
        return value.render()
    return _Integer(value) if isinstance(value, int) else value


class _Integer(int):
    """A whole number that is shown as :func:`_number` has it."""

    def __format__(self, form: str) -> str:
        return _number(int(self), form)


def rendered(text: Message | str | None, escape: _Escape = plain) -> str:
    """Return the text in the language that is set; ``escape`` makes strings safe to print. None is empty.

    A string comes from another program and is not translated.
    """
    if text is None:
        return ""
    return escape(text) if isinstance(text, str) else text.render(escape)


def _shown(value: Parameter, form: str, translate: _Translate, escape: _Escape) -> str:
    if value is None:
        return ""
    if isinstance(value, Message):
        return value.filled(translate, escape)
    if isinstance(value, tuple):
        pattern = translate(_JOINTS.get(form, _JOINTS[""]), "", 0)
        between = pattern.removeprefix("{first}").removesuffix("{second}")
        return between.join(part.filled(translate, escape) for part in value)
    if isinstance(value, str):
        return escape(value)
    return _number(value, "" if form in _JOINTS else form)


def _number(value: float, form: str) -> str:
    """With separators: ``21,000``, also where ``g`` would give 2.1e+04. Without them in the form ``d``, for names (a
    port) and for what is to be typed."""
    if form.endswith("g") and abs(value) >= 1 and "e" in format(value, form):
        return format(float(format(value, form)), ",.0f")
    if form == "d" or not (form.endswith("f") or (form == "" and isinstance(value, int))):
        return format(value, form)
    return format(value, f",{form}")


def _english(template: str, many: str, n: int) -> str:
    return many if many and n != 1 else template


@lru_cache(maxsize=2048)
def _names(template: str) -> frozenset[str]:
    return frozenset(name for _, name, _ in _pieces(template) if name)


@lru_cache(maxsize=2048)
def _pieces(template: str) -> tuple[tuple[str, str, str], ...]:
    """The template as literals, each with the name and the format of the place after it, empty if there is none."""
    if len(template) > MAX_TEXT:
        raise ValueError("a template is too long")
    pieces: list[tuple[str, str, str]] = []
    for literal, name, form, conversion in Formatter().parse(template):
        if name is not None and (conversion or not name.isidentifier() or _FORMAT.fullmatch(form or "") is None):
            raise ValueError(f"unknown format {form!r} in {template!r}")
        pieces.append((literal, name or "", form or ""))
    return tuple(pieces)


def figure(value: float | None) -> str:
    """A number in at most four digits or thousands; ``-`` for what was not measured."""
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def mean_figure(statistic: dict[str, Any] | None) -> str:
    """The mean of a statistic of the JSON summary."""
    return figure(None if statistic is None else statistic["mean"])


def duration(seconds: float) -> str:
    """Return a duration short enough for a title: ``9 s``, ``2 min 5 s``, ``1 h 12 min``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return tr("{s} s", s=whole)
    if whole < 3600:
        if whole % 60:
            return tr("{min} min {s} s", min=whole // 60, s=whole % 60)
        return tr("{min} min", min=whole // 60)
    return tr("{h} h {min} min", h=whole // 3600, min=whole % 3600 // 60)


def clock(seconds: float) -> str:
    """Return a point on the session's axis: ``00:42``, ``1:02:03``."""
    whole = max(0, int(seconds))
    if whole < 3600:
        return f"{whole // 60:02d}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
