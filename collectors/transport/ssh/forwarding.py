"""Sockets here that lead to servers of a remote host, which OpenSSH's client opens and forwards."""

import asyncio

from collectors.errors import FetchError
from collectors.parsing import on_one_line
from collectors.transport.shell.connection import ShellConnection
from collectors.transport.shell.pages import RemotePages
from collectors.transport.ssh.connection import Control, run_ssh


class Forwards(RemotePages):
    """``ssh`` is the client's program, ``control`` the control socket of the connection."""

    def __init__(self, connection: ShellConnection, ssh: str, control: Control) -> None:
        super().__init__(connection)
        self._ssh = ssh
        self._control = control

    async def forward(self, address: str, socket: str) -> None:
        status, printed = await run_ssh(self._order("forward", f"{socket}:{address}"))
        if status != 0:
            raise FetchError("ssh cannot forward the connection: {error}", error=on_one_line(printed)[:160])

    async def close(self) -> None:
        await super().close()
        if self._control.shared:
            forwards = (f"{socket}:{address}" for address, socket in self.sockets.items())
            await asyncio.gather(*(run_ssh(self._order("cancel", forward)) for forward in forwards))

    def _order(self, order: str, forward: str) -> list[str]:
        return [self._ssh, "-F", "none", "-S", self._control.path, "-O", order, "-L", forward, "loadtop"]
