"""Errors while a machine is read. Each error carries its reason as a message."""

from typing import ClassVar, Self

from loadtop.i18n import Message, MessageError, Parameter, Text
from loadtop.model import Cause, State


class ParseError(ValueError):
    """A text is not what its source prints: cut off, garbled, or of another kind. The only error of a parser."""


class ReadError(MessageError):
    """Something cannot be read. ``state``, ``cause`` and ``fix`` are those of :class:`loadtop.model.Outcome`."""

    state: ClassVar[State] = State.FAILED

    def __init__(
        self, message: Message | str, /, *, cause: Cause | None = None, fix: Text = "", **params: Parameter
    ) -> None:
        super().__init__(message, **params)
        self.cause = cause
        self.fix = fix

    def at(self, place: str) -> Self:
        """The same error with the place where it happened: a URL, or a machine."""
        message = Message("{place}: {reason}", place=place, reason=self.message)
        return type(self)(message, cause=self.cause, fix=self.fix)


class AbsentError(ReadError):
    """There is nothing to read: no such file, not permitted, switched off, or nothing of the kind on this machine."""

    state = State.ABSENT


class TransportError(ReadError):
    """The machine itself cannot be read: no connection, cut off in the middle, no answer."""


class FetchError(ReadError):
    """A page was not received: refused, unknown name, TLS failure, cut off, or timed out."""


class ClosedError(FetchError):
    """A connection that was made ended before there was a response."""


class SilentError(FetchError):
    """A server accepted the request and has not answered in time."""
