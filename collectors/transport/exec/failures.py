"""Why a command did not lead to a shell, with what to do, from what the command itself printed."""

import re
import shlex
from collections.abc import Sequence

from collectors.errors import TransportError
from collectors.parsing import on_one_line
from collectors.transport.shell.frames import SCRIPT_FAILURES
from loadtop.i18n import Message

_LAST = 200
_WORDS: tuple[tuple[tuple[str, ...], Message], ...] = (
    # regular expressions over what docker, podman, kubectl, lxc, nsenter, chroot, sudo and shells say
    (
        (r"not a (?:TTY|terminal)", "nable to use a TTY", "must be a terminal", "attach stdin to a TTY"),
        Message("the command needs a terminal: leave out its -t (docker exec -i, not -it)"),
    ),
    (
        ("password is required", "required to read the password", "no askpass", "uthentication is required"),
        Message("the command asks for a password: run loadtop as root, or let sudo run it without one (NOPASSWD)"),
    ),
    (
        ("permission denied.{0,200}(?:sock|daemon)", "(?:sock|daemon|unix).{0,200}permission denied"),
        Message("this user has no access to the container runtime: use sudo, or join its group (docker, lxd)"),
    ),
    (
        ("annot connect to the Docker daemon", "annot connect to Podman", "connection to the server .{0,200} refused"),
        Message("the container runtime does not respond: check that it is running and that the context is right"),
    ),
    (
        (
            "o such container",
            "no container with name",
            "NotFound",
            "nstance not found",
            "No machine .{0,99}known",
            "does not exist",
            "No such object",
            "container not found",
        ),
        Message("no container has that name: list the running ones (docker ps, kubectl get pods)"),
    ),
    (
        ("is not running", "is paused", "is stopped", "state improper", "on running containers", "completed pod"),
        Message("the container is not running: start it, and loadtop connects"),
    ),
    (
        ("/proc/[0-9]{1,10}/ns/[a-z_]{1,20}.{0,40}No such file",),
        Message("the process that the command enters has ended: find its new pid"),
    ),
    *(((pattern,), reason) for pattern, reason in SCRIPT_FAILURES),
    (
        (
            "executable file not found",
            "sh['\"`\u2019]?: (?:command |applet )?not found",
            "sh['\"`\u2019]?: No such file",
            "stat .{0,99}no such file",
        ),
        Message("no such shell in the container: try /bin/sh; if it has none, watch its host instead"),
    ),
    (
        ("/proc: No such file", "can't cd to /proc", "self/stat"),
        Message(
            "its /proc is missing or belongs to another PID namespace: mount it (mount -t proc proc /proc), or let "
            "the command enter both the PID and the mount namespace (nsenter -a)"
        ),
    ),
    (
        ("Operation not permitted", "Permission denied", "orbidden", "must be superuser"),
        Message("not permitted: start the command with sudo, or run loadtop as root"),
    ),
)

_SAID = tuple(("|".join(patterns), reason) for patterns, reason in _WORDS)


def explain(argv: Sequence[str], messages: Sequence[str], status: int | None, printed: str = "") -> TransportError:
    """``messages`` is what the command said, ``status`` its exit code, ``printed`` what it printed there last."""
    said = "\n".join((*messages, printed))
    for pattern, reason in _SAID:
        if re.search(pattern, said):
            return TransportError(_quoting(reason, messages))
    last = on_one_line(messages[-1] if messages else printed)[:_LAST]
    if status == 0 and not last:
        return TransportError(
            "the shell ended at once: it must read its standard input (docker exec -i, kubectl exec -i)",
        )
    name = shlex.quote(argv[0])
    if status is not None and status != 0:
        return TransportError(
            "{program} ended with status {status}{last}: does it start a POSIX shell?",
            program=name,
            status=status,
            last=f" ({last})" if last else "",
        )
    return TransportError("the connection was closed{last}", last=f" ({last})" if last else "")


def _quoting(reason: Message, messages: Sequence[str]) -> Message:
    """The reason with the output of the command, so that unknown failures can be identified."""
    last = next((on_one_line(line)[:_LAST] for line in reversed(messages) if line.strip()), "")
    return Message("{reason} ({said})", reason=reason, said=last) if last else reason
