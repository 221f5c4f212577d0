"""One connection: OpenSSH's client as a process, and the shell loop at its far end."""

import asyncio
import contextlib
import os
import secrets
import signal
import termios
import threading
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.background import guarded
from collectors.errors import TransportError
from collectors.machine import Missing
from collectors.transport.shell import frames
from collectors.transport.ssh.failures import HostKey, clean, explain
from collectors.transport.ssh.guard import SocketDirectory
from loadtop.i18n import Message

FRAME_BYTES = 8 << 20  # no frame is longer; a far side that prints more without an end is disconnected
CONNECT_S = 20.0
_CHUNK = 65536
_LINE_BYTES = 2000
_MESSAGES = 30
_MOST_BYTES, _MOST_LINES = 1 << 20, 50_000
_ENDING_S = 1.0
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

    ssh reads answers from the terminal itself, so none passes through here. It runs in a process group of its own,
    which is the terminal's foreground group only while ssh may ask: afterwards keys and Ctrl-C are loadtop's again."""

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


@dataclass(frozen=True, slots=True)
class Control:
    """The control socket of the connection: a private one, or that of a connection of the user's own (``shared``).
    ``address`` is the name or address that ssh connects to, which its configuration can give a place."""

    path: str
    shared: bool
    address: str
    host_key: HostKey


class SshLine:
    """One connection. :meth:`exchange` may be cancelled: what then comes too late is passed over."""

    def __init__(
        self, place: str, process: asyncio.subprocess.Process, control: Control, sockets: SocketDirectory
    ) -> None:
        self._place = place
        self._process = process
        self._listening = asyncio.create_task(guarded(self._listen, self._fail), name=f"messages of {place}")
        self._word = secrets.token_hex(8)
        self._count = 0
        self._pss: dict[int, str | Missing] = {}
        self.pss_asked = ""
        self._awaiting = False
        self.control = control
        self.directory = sockets.path
        self._sockets = sockets
        self.messages: deque[str] = deque(maxlen=_MESSAGES)
        self.refusal = ""
        self._noted = 0
        self._endless = False
        self._alive = asyncio.get_running_loop().call_later(frames.SILENCE_S / 4, self._keep_alive)

    @classmethod
    async def open(cls, place: str, ssh: Sequence[str], prompt: Prompt | None = None) -> "SshLine":
        """Start ssh. ``ssh`` is its command, with options that come before all others. It asks for nothing, unless
        there is a ``prompt``, which is to be taken back when the first answer has come."""
        with contextlib.ExitStack() as unfinished:  # also where the start is cancelled its directory goes
            sockets = SocketDirectory()
            unfinished.callback(sockets.remove)
            script = frames.far_script(secrets.token_hex(8))
            try:
                control = await _control(place, ssh, sockets.path)
                process = await _start(place, ssh, control, len(script.encode()), prompt)
            except FileNotFoundError:
                raise TransportError(
                    "OpenSSH's client is not installed here: install openssh-client (Debian) or openssh-clients"
                    " (Red Hat)"
                ) from None
            unfinished.pop_all()
        sockets.opened_by(process.pid)
        line = cls(place, process, control, sockets)
        line.send(script)
        return line

    def next_mark(self) -> str:
        """A word that nothing printed there can hold before it was sent."""
        self._count += 1
        return f"{self._word}{self._count:x}"

    def send(self, orders: str) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(orders.encode())

    def _keep_alive(self) -> None:
        """Send an empty order from time to time, however rarely samples are taken: the far loop ends without any."""
        self.send("\n")
        self._alive = asyncio.get_running_loop().call_later(frames.SILENCE_S / 4, self._keep_alive)

    async def exchange(self, orders: str, mark: str, timeout_s: float) -> str:
        """Send orders, and return what was printed between the mark and its end (the mark with a full stop)."""
        self.send(orders)
        stdout = self._process.stdout
        if stdout is None:
            raise TransportError("no connection")
        self._awaiting = True
        try:
            async with asyncio.timeout(timeout_s):
                chunk = await stdout.readuntil(f"\n#{mark}.\n".encode())
        except TimeoutError:
            raise TransportError("no response for {seconds:.0f} s", seconds=timeout_s) from None
        except asyncio.LimitOverrunError:
            raise TransportError("it printed {size} MB without a complete frame", size=FRAME_BYTES >> 20) from None
        except asyncio.IncompleteReadError as cut:
            raise await self._why(cut.partial, mark) from None
        except ConnectionError as error:
            raise TransportError("the connection broke ({error})", error=error.strerror) from None
        finally:
            self._awaiting = False
        return frames.cut_out(chunk.removesuffix(f"\n#{mark}.\n".encode()), mark)

    def ask_pss(self, pids: Sequence[int]) -> None:
        """Ask for proportional memory, which comes on the other stream whenever it comes; one question at a time."""
        self.pss_asked = self.next_mark()
        self.send(f"b {self.pss_asked} {' '.join(map(str, pids))}\n")

    def take_pss(self) -> dict[int, str | Missing]:
        texts, self._pss = self._pss, {}
        return texts

    async def close(self) -> None:
        """End the far shell by the end of its input, then ssh, surely."""
        try:
            await self._end()
        finally:
            self._sockets.remove()

    async def _end(self) -> None:
        self._alive.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            for end in (None, self._process.terminate, self._process.kill):
                if end is not None and self._process.returncode is None:
                    end()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_ENDING_S):
                        await self._drain()
                        break
        finally:  # also where loadtop ends before
            self._listening.cancel()
            # What ssh started (a ProxyCommand, say) can outlive it and hold its pipes open: asyncio closes them only
            # here, and kills an ssh that still runs.
            self._process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001
        await asyncio.gather(self._listening, return_exceptions=True)
        await asyncio.sleep(0)

    async def _drain(self) -> None:
        """Wait for the end of the process. What it still prints is read (here, or by an exchange that waits for its
        answer all the while), or it would not end."""
        stdout = self._process.stdout
        while stdout is not None and not self._awaiting and await stdout.read(_CHUNK):
            pass
        await self._process.wait()

    async def _why(self, partial: bytes, mark: str) -> TransportError:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_S):
                await self._process.wait()
                await asyncio.shield(self._listening)
        if self._endless:
            return TransportError("it keeps printing messages")
        status = self._process.returncode
        printed = partial[-500:].decode("utf-8", "replace")
        error = explain(self._place, self.messages, status, printed, self.control.host_key)
        if f"\n#{mark}\n".encode() in partial and (status is None or status < 0 or status == 255):
            error.message = Message("{reason}, in the middle of a frame", reason=error.message)
        return error

    async def _listen(self) -> None:
        """Read the other stream to its end: what ssh says, and proportional memory between its marks."""
        stream = self._process.stderr
        text = ""
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            text += chunk.decode("utf-8", "replace")
            text = self._hear(text)
            if len(text) > _MOST_BYTES or self._noted > _MOST_LINES:
                self._endless = True
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                return
        if text.strip():
            self.messages.append(clean(text[-_LINE_BYTES:]))

    def _fail(self, error: Message) -> None:
        """Nothing that ssh says is heard any more: the connection ends, with this as the reason."""
        self.messages.append(str(error))
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _hear(self, text: str) -> str:
        """Take what is complete; returns the rest."""
        while True:
            begin = f"\n#{self.pss_asked}\n"
            before, found, rest = text.partition(begin) if self.pss_asked else (text, "", "")
            whole, newline, last = before.rpartition("\n")
            for line in filter(str.strip, whole.splitlines()):
                message = clean(line[:_LINE_BYTES])
                if "open failed" in message:
                    self.refusal = message
                else:
                    self._noted += 1
                    self.messages.append(message)
            if not found:
                return newline + last  # the line end may be the beginning of a mark
            printed, ended, after = rest.partition(f"\n#{self.pss_asked}.\n")
            if not ended:
                return found + rest
            self._pss.update(frames.parse_pss(printed))
            self.pss_asked = ""
            text = after


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
            while process.stdout is not None and (chunk := await process.stdout.read(_CHUNK)):
                printed = (printed + chunk)[:_MOST_BYTES]
            await process.wait()
    except TimeoutError:
        return 255, "no answer"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, printed.decode("utf-8", "replace")


async def _control(place: str, ssh: Sequence[str], directory: Path) -> Control:
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


async def _start(
    place: str, ssh: Sequence[str], control: Control, script_bytes: int, prompt: Prompt | None
) -> asyncio.subprocess.Process:
    """Start ssh, with a shell there that does what the first bytes of its input say."""
    there = f"""exec sh -c 'eval "$(dd bs=1 count={script_bytes} 2>/dev/null)"'"""
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
