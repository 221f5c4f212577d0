"""Status pages of a far machine through the connection to it: each server there has a unix socket here, in a directory
that only this user can enter. The request then comes from that machine itself, and ``Require local`` stays."""

import asyncio
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from collectors.page import Page
from collectors.problem import FetchError
from collectors.transport.http import StatusClient
from collectors.transport.ssh_line import SshLine, run_ssh
from collectors.transport.ssh_problem import clean

_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+", re.ASCII)
_REFUSALS = {
    "Connection refused": "connection refused: nothing listens there",
    "administratively prohibited": "its sshd does not let pages through: AllowTcpForwarding yes in its sshd_config",
    "Name or service not known": "no such name there",
    "Connection timed out": "no answer there",
}


class FarPages:
    """Fetches pages through one connection."""

    def __init__(self, line: SshLine, ssh: Sequence[str], *, verify: bool) -> None:
        self._line = line
        self._ssh = ssh
        self._verify = verify
        self._clients: dict[str, StatusClient] = {}
        self._forwards: list[str] = []
        self._opening = asyncio.Lock()

    async def get(self, url: str, timeout_s: float) -> Page:
        """The page. Raises :class:`FetchError` with the reason."""
        client = await self._client(_address(url))
        self._line.refusal = ""
        try:
            return await client.get(url, timeout_s)
        except FetchError:
            # The socket here always takes a connection; whether the server did is said by ssh alone.
            for words, reason in _REFUSALS.items():
                if words in self._line.refusal:
                    raise FetchError(reason) from None
            raise

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        if self._line.control.shared:
            await asyncio.gather(*(run_ssh(self._order("cancel", forward)) for forward in self._forwards))

    async def _client(self, address: str) -> StatusClient:
        async with self._opening:
            if address not in self._clients:
                socket = str(self._line.directory / f"page{len(self._clients)}")
                forward = f"{socket}:{address}"
                status, printed = await run_ssh(self._order("forward", forward))
                if status != 0:
                    raise FetchError(f"no way through ssh: {clean(printed)[:160]}")
                self._forwards.append(forward)
                self._clients[address] = StatusClient(verify=self._verify, socket_path=socket)
            return self._clients[address]

    def _order(self, order: str, forward: str) -> list[str]:
        return [self._ssh[0], "-F", "none", "-S", self._line.control.path, "-O", order, "-L", forward, "loadtop"]


def _address(url: str) -> str:
    """Host and port of a URL as ssh's ``-L`` wants them."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        raise FetchError("this is no URL") from None
    host = parts.hostname or ""
    if port is None or not _HOST.fullmatch(host) or host.startswith("-"):
        raise FetchError("this is no URL")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
