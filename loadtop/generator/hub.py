"""An event loop for plain TCP on Linux: one epoll set, in which the sockets under load are served without detours.

An event loop makes a callback of every event, and asks the kernel again after each round of them. That costs more than
a short answer does. Here what comes for a connection under load is handled where epoll tells of it, and the loop
around it (asyncio's own) gets its turn when there is something for it: a timer that is due, another descriptor, or a
callback that was asked for meanwhile.
"""

import asyncio
import contextlib
import select
from collections.abc import Callable, Mapping
from contextvars import Context
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector, SelectorKey
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVarTuple

from loadtop.generator.timerfd import TimerFd

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_Ts = TypeVarTuple("_Ts")

READ_BYTES = 1 << 18
_BATCH = 42
"""Events that are taken from the kernel at once: so many that Python's own allocator has room for them (512 bytes)."""
_LONG_S = 0.005
"""A time that is worth its own timer. Each poll with a time to wait reads the clock twice, which is a seventh of it."""


class Handler(Protocol):
    """Is told what epoll says of its descriptor."""

    def handle(self, event: int) -> None: ...


class Hub(BaseSelector):
    """A selector that serves its ``handlers`` itself. What is left for the event loop is what it registered.

    ``asked`` is set when the event loop was asked for something. ``buffer`` is what all handlers read into, one after
    the other; ``seen`` is a view of it.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._keys: dict[int, SelectorKey] = {}
        self._timer: TimerFd | None = None
        self.asked = False
        self.buffer = bytearray(READ_BYTES)
        self.seen = memoryview(self.buffer)
        self.handlers: dict[int, Handler] = {}
        """By descriptor; an entry may be of a socket that is closed, of which epoll never speaks again."""
        self.watch = self._epoll.register
        self.rewatch = self._epoll.modify

    @staticmethod
    def available() -> bool:
        """Whether this system has epoll."""
        return hasattr(select, "epoll")

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Serve the handlers until there is something for the event loop, ``timeout`` seconds at most."""
        self.asked = False
        poll, handlers = self._epoll.poll, self.handlers
        left = timeout
        ends = 0.0 if timeout is None else monotonic() + timeout
        others: list[tuple[SelectorKey, int]] = []
        while True:
            events = poll(left, _BATCH)
            for number, event in events:
                try:
                    handler = handlers[number]
                except KeyError:
                    if (key := self._keys.get(number)) is not None:
                        others.append((key, _for_the_loop(event) & key.events))
                else:
                    handler.handle(event)
            if self.asked or others or not events:
                return others
            if left is not None:
                left = ends - monotonic()
                if left <= 0:
                    return others
                if left > _LONG_S and self._ring_at(ends):
                    left = None

    def _ring_at(self, ends: float) -> bool:
        """Have :meth:`select` end at this time of ``monotonic``, however it waits; whether this system can."""
        if self._timer is None:
            try:
                self._timer = TimerFd()
            except OSError:
                return False
            self.handlers[self._timer.number] = self
            self.watch(self._timer.number, select.EPOLLIN | select.EPOLLET)
        self._timer.set(int(ends * 1e9))
        return True

    def handle(self, event: int) -> None:  # noqa: ARG002 - a timer has only one thing to say
        """The time has come."""
        self.asked = True

    def register(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> SelectorKey:
        """Part of :class:`selectors.BaseSelector`, like what follows."""
        number = _number(fileobj)
        self.handlers.pop(number, None)
        self._epoll.register(number, _for_epoll(events))
        key = self._keys[number] = SelectorKey(fileobj, number, events, data)
        return key

    def unregister(self, fileobj: "FileDescriptorLike") -> SelectorKey:
        key = self._keys.pop(_number(fileobj))
        with contextlib.suppress(OSError):  # it was closed before: epoll has forgotten it already
            self._epoll.unregister(key.fd)
        return key

    def modify(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> SelectorKey:
        number = _number(fileobj)
        self._epoll.modify(number, _for_epoll(events))
        key = self._keys[number] = SelectorKey(fileobj, number, events, data)
        return key

    def get_key(self, fileobj: "FileDescriptorLike") -> SelectorKey:
        return self._keys[_number(fileobj)]

    def get_map(self) -> Mapping["FileDescriptorLike", SelectorKey]:
        found: dict[FileDescriptorLike, SelectorKey] = dict(self._keys.items())
        return found

    def close(self) -> None:
        self._keys.clear()
        self._epoll.close()
        if self._timer is not None:
            self._timer.close()


class HubLoop(asyncio.SelectorEventLoop):
    """asyncio's event loop over a :class:`Hub`, which hears of everything that it is asked for."""

    def __init__(self) -> None:
        self.hub = Hub()
        super().__init__(self.hub)

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.hub.asked = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.hub.asked = True
        return super().call_at(when, callback, *args, context=context)


def _number(fileobj: "FileDescriptorLike") -> int:
    return fileobj if isinstance(fileobj, int) else fileobj.fileno()


def _for_epoll(events: int) -> int:
    return (select.EPOLLIN if events & EVENT_READ else 0) | (select.EPOLLOUT if events & EVENT_WRITE else 0)


def _for_the_loop(event: int) -> int:
    """Errors and ends are both readable and writable: whoever tries hears of them."""
    found = EVENT_READ if event & ~select.EPOLLOUT else 0
    return found | (EVENT_WRITE if event & ~select.EPOLLIN else 0)
