"""Why ssh could not connect, with the command that fixes it, from what ssh itself printed.

A server can print anything before ssh does, as a banner: its words choose among these reasons, and are quoted in them,
but none is ever part of a command.
"""

import os.path
import re
import shlex
from collections.abc import Sequence

from msgspec import Struct

from collectors.errors import TransportError
from collectors.parsing import on_one_line
from collectors.transport.shell.frames import SCRIPT_FAILURES
from loadtop.i18n import Message

_METHODS = re.compile(r"Permission denied \(([\w,@.-]{1,4096})\)")
_JUMP = "UNKNOWN port 65535"  # how ssh names the other end where a ProxyJump leads there

_PLAIN = (  # what ssh or the remote shell says, as regular expressions, and what that means
    (
        "Could not resolve hostname",
        Message("unknown host name: check it, or set HostName in ~/.ssh/config"),
    ),
    (
        "Connection refused",
        Message("nothing is listening on its SSH port: check that sshd is running and that the port is right"),
    ),
    ("timed out", Message("no response on its SSH port: check that the machine is up and that no firewall blocks it")),
    ("No route to host", Message("no route to it: check the address and the firewalls in between")),
    ("Network is unreachable", Message("no route to it: check the address and this machine's network")),
    ("not responding", Message("the connection is dead: no response for 15 s")),
    *SCRIPT_FAILURES,
)


class HostKey(Struct, frozen=True):
    """Under which ``name`` and in which ``file`` of this machine ssh keeps the key of a host; empty if not known."""

    name: str = ""
    file: str = ""

    def remove(self, place: str) -> str:
        """The command that removes it."""
        name = shlex.quote(self.name or place.removeprefix("ssh://").rpartition("@")[2])
        file = shlex.quote(os.path.expanduser(self.file))  # noqa: PTH111 - Path's fails where there is no home
        return f"ssh-keygen -f {file} -R {name}" if self.file else f"ssh-keygen -R {name}"


def command_for(place: str) -> str:
    """What to type to reach a place by hand: the alias alone where that is enough."""
    bare = place.removeprefix("ssh://")
    return f"ssh {bare}" if bare.rpartition("@")[2].count(":") == 0 else f"ssh {place}"


def explain(
    place: str, messages: Sequence[str], status: int | None, printed: str = "", host_key: HostKey | None = None
) -> TransportError:
    """``messages`` is what ssh said, ``status`` its exit code, ``printed`` what the remote side printed last."""
    said = "\n".join(messages)
    ssh = command_for(place)
    if "HOST IDENTIFICATION HAS CHANGED" in said or "host key has just been changed" in said:
        if _JUMP in said:
            reason = Message("the host key of a jump host has changed: {ssh} shows which", ssh=ssh)
            return TransportError(reason, fix=ssh)
        remove = (host_key or HostKey()).remove(place)
        reason = Message(
            "its host key has changed: if the machine was reinstalled, run {remove} and then {ssh}",
            remove=remove,
            ssh=ssh,
        )
        return TransportError(reason, fix=f"{remove}\n{ssh}")
    if "Host key verification failed" in said or "host key is known" in said:
        whose = Message("the host key of a jump host") if _JUMP in said else Message("its host key")
        reason = Message("{whose} is unknown: check and accept it once with {ssh}", whose=whose, ssh=ssh)
        return TransportError(reason, fix=ssh)
    if "Permission denied" in said:
        return _denied(said, ssh)
    for pattern, reason in _PLAIN:
        if re.search(pattern, said, re.DOTALL):
            return TransportError(reason)
    if status is not None and 128 < status < 160:
        return TransportError("its shell or a program it started was ended by signal {signal}", signal=status - 128)
    if status is not None and status >= 0 and status != 255:
        last = on_one_line(printed.strip() or said.strip())[-100:]
        reason = Message(
            "its shell ended with status {status}{last}: is it a POSIX shell? try {ssh} sh",
            status=status,
            last=f" ({last})" if last else "",
            ssh=ssh,
        )
        return TransportError(reason, fix=f"{ssh} sh")
    last = next((on_one_line(line) for line in reversed(messages) if line.strip()), "")[:160]
    return TransportError("the connection was closed{last}", last=f" ({last})" if last else "")


def _denied(said: str, ssh: str) -> TransportError:
    methods = _METHODS.search(said)
    offered = methods[1].split(",") if methods else []
    target = ssh.removeprefix("ssh ")
    if "password" in offered or "keyboard-interactive" in offered:
        copy = f"ssh-copy-id {target}"
        reason = Message(
            "authentication failed: check the user, load a key with ssh-add, or install your key there with {command}",
            command=copy,
        )
        return TransportError(reason, fix=copy)
    reason = Message(
        "no key was accepted, or the user does not exist: load the right key with ssh-add, then check with {command}",
        command=f"{ssh} true",
    )
    return TransportError(reason, fix=f"{ssh} true")
