"""What ``loadtop doctor`` says about a kind of server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from loadtop.i18n import Text
from loadtop.model import Cause, HostSample
from loadtop.model.server import ServerReading

R = TypeVar("R", bound=ServerReading)


@dataclass(frozen=True, slots=True)
class Lack:
    """What is missing although the collector reports no problem, as in an :class:`~loadtop.model.Outcome`."""

    reason: Text = ""
    cause: Cause | None = None
    fix: Text = ""


@dataclass(frozen=True, slots=True)
class Checks(Generic[R]):
    """``seen`` describes what was read; ``lacks`` finds what is missing in it. Both get at least one reading."""

    seen: Callable[[tuple[R, ...]], Text]
    lacks: Callable[[tuple[R, ...], HostSample], Lack] = lambda _, __: Lack()
