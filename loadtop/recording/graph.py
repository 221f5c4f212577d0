"""Objects of known classes as one text, and back: what is needed to go on adding where somebody stopped.

The text is JSON. A list in it is ``[kind, ...]``; an object is the number of its class and the values of its fields, an
array (of floats or whole numbers) its bytes.
Nothing but the classes it is told of is ever made of a text, and none of their code runs meanwhile.
"""

import json
import sys
from array import array
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from inspect import getmembers, isclass
from types import ModuleType
from typing import Any

_PLAIN = frozenset({type(None), bool, int, float})
_LISTS: dict[str, Callable[[list[Any]], Any]] = {"l": list, "t": tuple, "s": set}
_KINDS: dict[type, str] = {list: "l", tuple: "t", set: "s"}


class UnknownClassError(TypeError):
    """An object of a class that is not known."""


class Graph:
    """Writes and reads objects of the classes in some modules (those that they import from here, too)."""

    def __init__(self, modules: Iterable[ModuleType], *, text: Callable[[str], str] = str) -> None:
        """``text`` is what every text goes through before it is written."""
        package = __name__.partition(".")[0]
        found = [each for module in modules for _, each in getmembers(module, isclass)]
        self._classes = {_name(each): each for each in found if each.__module__.partition(".")[0] == package}
        self._text = text

    def written(self, thing: object) -> str:
        """The text. Raises UnknownClassError."""
        writing = _Writing(self._classes, self._text)
        state = writing.value(thing)
        return json.dumps({"classes": writing.classes, "state": state}, separators=(",", ":"))

    def read(self, text: str) -> Any:
        """What was written. Raises ValueError, TypeError, LookupError or AttributeError for anything else."""
        whole = json.loads(text)
        shapes = [(self._classes[name], tuple(map(str, fields))) for name, fields in whole["classes"]]
        return _Reading(shapes).value(whole["state"])


class _Writing:
    """One text as it is made. An object that is met again is only referred to."""

    def __init__(self, known: dict[str, type], text: Callable[[str], str]) -> None:
        self.classes: list[tuple[str, tuple[str, ...]]] = []
        self._known = known
        self._text = text
        self._shapes: dict[type, tuple[int, tuple[str, ...]]] = {}
        self._numbers: dict[int, int] = {}

    def value(self, thing: Any) -> Any:
        kind = _class(thing)
        if kind in _PLAIN:
            return thing
        if kind is str:
            return self._text(thing)
        if kind in _KINDS:
            return [_KINDS[kind], *self._values(thing)]
        if kind is dict:
            return ["d", *(self.value(each) for pair in thing.items() for each in pair)]
        if kind is deque:
            return ["q", thing.maxlen, *self._values(thing)]
        if kind is array:
            return ["a", thing.typecode, b64encode(_little(thing).tobytes()).decode()]
        if isinstance(thing, Enum):
            return ["e", self._shape(thing)[0], thing.value]
        # What numpy computes is a float and more.
        return float(thing) if isinstance(thing, float) else self._object(thing)

    def _values(self, things: Iterable[Any]) -> list[Any]:
        values = list(things)
        return values if _PLAIN.issuperset(map(type, values)) else [self.value(each) for each in values]

    def _object(self, thing: object) -> list[Any]:
        known = self._numbers.get(id(thing))
        if known is not None:
            return ["r", known]
        self._numbers[id(thing)] = len(self._numbers)
        number, fields = self._shape(thing)
        return ["o", number, *(self.value(getattr(thing, field)) for field in fields)]

    def _shape(self, thing: object) -> tuple[int, tuple[str, ...]]:
        kind = type(thing)
        known = self._shapes.get(kind)
        if known is None:
            if self._known.get(_name(kind)) is not kind:
                raise UnknownClassError(_name(kind))
            fields = () if isinstance(thing, Enum) else _fields(thing)
            known = self._shapes[kind] = len(self.classes), fields
            self.classes.append((_name(kind), fields))
        return known


class _Reading:
    """One text as it is taken apart."""

    def __init__(self, shapes: list[tuple[Any, tuple[str, ...]]]) -> None:
        self._shapes = shapes
        self._objects: list[object] = []

    def value(self, stored: Any) -> Any:
        return self._made(stored) if _class(stored) is list else stored

    def _made(self, parts: list[Any]) -> Any:
        kind, rest = parts[0], parts[1:]
        if kind in _LISTS:
            return _LISTS[kind](self._values(rest))
        if kind == "d":
            values = self._values(rest)
            return dict(zip(values[::2], values[1::2], strict=True))
        if kind == "q":
            return deque(self._values(rest[1:]), maxlen=rest[0])
        if kind == "a":
            stored: array[Any] = array("d") if rest[0] == "d" else array("q")
            stored.frombytes(b64decode(rest[1]))
            return _little(stored)
        if kind == "r":
            return self._objects[rest[0]]
        number: int = rest[0]
        cls, fields = self._shapes[number]
        if kind == "e":
            return cls(rest[1])
        if kind != "o":
            raise ValueError(f"no such kind: {kind!r}")
        thing = cls.__new__(cls)
        self._objects.append(thing)
        for field, value in zip(fields, rest[1:], strict=True):
            object.__setattr__(thing, field, self.value(value))
        return thing

    def _values(self, stored: list[Any]) -> list[Any]:
        return [self.value(each) if type(each) is list else each for each in stored]


def _little(values: "array[Any]") -> "array[Any]":
    """With the least byte first, as they are written, or back."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values


def _class(thing: object) -> type:
    return type(thing)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _fields(thing: object) -> tuple[str, ...]:
    """What the object holds, by slots or without."""
    if hasattr(thing, "__dict__"):
        return tuple(vars(thing))
    slots = [getattr(cls, "__slots__", ()) for cls in type(thing).__mro__]
    return tuple(name for names in slots for name in ((names,) if isinstance(names, str) else names))
