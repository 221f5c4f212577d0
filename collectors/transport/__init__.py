"""The only difference between a near and a far machine: how texts and pages come from it."""

from typing import Protocol

from collectors.page import Page
from collectors.reading import Reading, Request


class Transport(Protocol):
    """One machine with /proc. Calls of :meth:`read` do not overlap; :meth:`fetch` and :meth:`ask` may run beside."""

    @property
    def source(self) -> str:
        """``local`` or ``ssh://...``, for people."""
        ...

    async def read(self, request: Request) -> Reading:
        """One reading, on the machine's own clock. Raises :class:`~collectors.errors.TransportError`."""
        ...

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """A page, fetched from that machine. Raises :class:`~collectors.errors.FetchError` with the reason."""
        ...

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        """All that a stream socket of that machine answers (``HOST:PORT``, or the path of a unix socket). Raises
        :class:`~collectors.errors.FetchError` with the reason."""
        ...

    async def close(self) -> None: ...
