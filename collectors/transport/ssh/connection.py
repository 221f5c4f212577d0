"""Starts OpenSSH's client: its options, its control socket, and the terminal on which it may ask."""

import asyncio
import contextlib
import os
import shlex
import signal
import termios
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

from msgspec import Struct

from collectors.transport.shell.connection import CHUNK, CONNECT_S, FRAME_BYTES
from collectors.transport.ssh.failures import HostKey

_MOST_BYTES = 1 << 20
_SILENT = ("BatchMode=yes",)
_ASKING = ("BatchMode=no", "StrictHostKeyChecking=yes")
_NO_WINDOW = {"SSH_ASKPASS_REQUIRE": "never"}
"""The ssh of a ProxyJump, which knows none of these options, asks in no window either."""

_OPTIONS = (
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "LogLevel=INFO",
)

ASK_S = 120.0  # so long is waited for an answer
ASKING = asyncio.Lock()  # one question at a time, however many machines ask


class Prompt:
    """Lets ssh ask for a password, a passphrase or a second factor on the terminal that loadtop was started from.

    ssh reads answers from the terminal itself, so none passes through here. It runs in a separate process group, which
    is the terminal's foreground group only while ssh can prompt: afterwards keys and Ctrl-C are loadtop's again."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._settings = termios.tcgetattr(descriptor)

    def give(self, group: int) -> None:
        os.tcsetpgrp(self._descriptor, group)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)  # where it tried to read before it was allowed to

    def take_back(self) -> None:
        """As it was: one that was killed while it asked leaves a terminal without echo."""
        os.tcsetpgrp(self._descriptor, os.getpgrp())
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)


@contextlib.contextmanager
def terminal_prompt() -> Generator[Prompt | None]:
    """The terminal that this process was started from; ``None`` where there is none, or it is another program's now."""
    with contextlib.ExitStack() as afterwards:
        yield _taken(afterwards)


def _taken(afterwards: contextlib.ExitStack) -> Prompt | None:
    if threading.current_thread() is not threading.main_thread():
        return None
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    afterwards.callback(os.close, descriptor)
    if os.tcgetpgrp(descriptor) != os.getpgrp():
        return None
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # or taking the terminal back would stop this process
    afterwards.callback(signal.signal, signal.SIGTTOU, before)
    found = Prompt(descriptor)
    afterwards.callback(found.take_back)
    return found


class Control(Struct, frozen=True):
    """The control socket of the connection: a private one, or that of a connection of the user's own (``shared``).
    ``address`` is the name or address that ssh connects to, which its configuration can give a place."""

    path: str
    shared: bool
    address: str
    host_key: HostKey


async def run_ssh(command: Sequence[str]) -> tuple[int, str]:
    """Run a short command of ssh that connects to a control socket at most. Returns its status and its output."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    printed = b""
    try:
        async with asyncio.timeout(CONNECT_S):
            while process.stdout is not None and (chunk := await process.stdout.read(CHUNK)):
                printed = (printed + chunk)[:_MOST_BYTES]
            await process.wait()
    except TimeoutError:
        return 255, "no answer"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, printed.decode("utf-8", "replace")


async def control_socket(place: str, ssh: Sequence[str], directory: Path) -> Control:
    """The control socket of the user's own connection to that place where one is open; otherwise a private one."""
    _, printed = await run_ssh([*ssh, "-G", place])
    settings = {name: value for name, _, value in (line.partition(" ") for line in printed.splitlines())}
    path, address = settings.get("controlpath", "none"), settings.get("hostname", "")
    port, alias = settings.get("port", "22"), settings.get("hostkeyalias", "none")
    name = address if port == "22" else f"[{address}]:{port}"
    files = settings.get("userknownhostsfile", "").split()
    key = HostKey(name if alias == "none" else alias, files[0] if files else "")
    if path not in ("", "none"):
        status, _ = await run_ssh([ssh[0], "-F", "none", "-S", path, "-O", "check", "loadtop"])
        if status == 0:
            return Control(path, shared=True, address=address, host_key=key)
    return Control(str(directory / "ssh"), shared=False, address=address, host_key=key)


async def start_ssh(
    place: str, ssh: Sequence[str], control: Control, program: str, prompt: Prompt | None
) -> asyncio.subprocess.Process:
    """Start ssh, with a shell there that runs a program."""
    there = f"exec sh -c {shlex.quote(program)}"
    chosen = (*(_SILENT if prompt is None else _ASKING), *_OPTIONS)
    options = [word for option in chosen for word in ("-o", option)]
    mine = [] if control.shared else ["-M", "-S", control.path, "-o", "ControlPersist=no"]
    process = await asyncio.create_subprocess_exec(
        *(*ssh, "-T", "-C", *options, *mine, place, there),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=FRAME_BYTES,
        env=None if prompt is not None else {**os.environ, **_NO_WINDOW},
        start_new_session=prompt is None,
        process_group=None if prompt is None else 0,
    )
    if prompt is not None:
        prompt.give(process.pid)
    return process
