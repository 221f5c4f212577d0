"""Reaches a remote host over SSH: one process of OpenSSH's client, one channel.

The user's own configuration holds: aliases, jump hosts, agent, known_hosts; host keys are always checked.
"""

import contextlib
import secrets
from collections.abc import Sequence

from collectors.errors import TransportError
from collectors.transport.shell import frames
from collectors.transport.shell.connection import ShellConnection
from collectors.transport.shell.guard import SocketDirectory
from collectors.transport.shell.pages import RemotePages
from collectors.transport.shell.transport import ShellTransport
from collectors.transport.ssh.connection import ASK_S, ASKING, Prompt, control_socket, start_ssh, terminal_prompt
from collectors.transport.ssh.failures import explain
from collectors.transport.ssh.forwarding import Forwards


class DeniedError(TransportError):
    """Login needs a password or a second factor."""


class SshTransport(ShellTransport):
    """``place`` is ``ssh://[USER@]HOST[:PORT]``, ``ssh`` the client's command with options that come before all
    others."""

    def __init__(self, place: str, *, ssh: Sequence[str] = ("ssh",)) -> None:
        super().__init__(place)
        self._ssh = tuple(ssh)
        self._prompt: Prompt | None = None

    async def connect(self) -> None:
        """Connect for the first time. Where that needs a password or a second factor and there is a terminal, ssh asks
        on it. Raises :class:`TransportError`: one line with what to do."""
        try:
            await super().connect()
        except DeniedError:
            async with ASKING:
                with terminal_prompt() as prompt:
                    if prompt is None:
                        raise
                    self._prompt = prompt
                    try:
                        await self.open(ASK_S)
                    except TransportError as error:
                        raise error.at(self.source) from None
                    finally:
                        self._prompt = None

    async def start(self) -> tuple[ShellConnection, RemotePages]:
        with contextlib.ExitStack() as unfinished:  # also where the start is cancelled its directory goes
            directory = SocketDirectory()
            unfinished.callback(directory.remove)
            script = frames.remote_script(secrets.token_hex(8), frames.LOOP_SILENCE_S)
            try:
                control = await control_socket(self.source, self._ssh, directory.path)
                process = await start_ssh(self.source, self._ssh, control, frames.bootstrap(script), self._prompt)
            except FileNotFoundError:
                raise TransportError(
                    "OpenSSH's client is not installed on this machine: install "
                    "openssh-client (Debian) or openssh-clients (Red Hat)"
                ) from None
            unfinished.pop_all()

        def why(messages: Sequence[str], status: int | None, printed: str) -> TransportError:
            error = explain(self.source, messages, status, printed, control.host_key)
            denied = any("Permission denied" in message for message in messages)
            return DeniedError(error.message, fix=error.fix) if denied else error

        self.names = frozenset({control.address})
        connection = ShellConnection(self.source, process, directory, why)
        connection.send(script)
        return connection, Forwards(connection, self._ssh[0], control)
