"""The only difference between a near and a far machine: how texts and pages come from it."""

from typing import Protocol

from collectors.page import Page
from collectors.reading import Reading, Request


class Transport(Protocol):
    """One machine with /proc. Calls of :meth:`read` do not overlap; :meth:`fetch` may run beside them."""

    @property
    def source(self) -> str:
        """``local`` or ``ssh://...``, for people."""
        ...

    async def read(self, request: Request) -> Reading:
        """One reading, on the machine's own clock. Raises :class:`~collectors.problem.TransportError`."""
        ...

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """A page, fetched from that machine. Raises :class:`~collectors.problem.FetchError` with the reason."""
        ...

    async def close(self) -> None: ...
