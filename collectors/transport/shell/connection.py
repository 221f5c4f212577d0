"""One connection: a process that leads to a remote host, and the shell loop at its remote end."""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Sequence

from collectors.background import guarded
from collectors.errors import TransportError
from collectors.parsing import on_one_line
from collectors.transport.shell import frames
from collectors.transport.shell.guard import SocketDirectory
from loadtop.i18n import Message

FRAME_BYTES = 8 << 20  # no frame is longer; a remote side that prints more without end is disconnected
CONNECT_S = 20.0
CHUNK = 65536
_LINE_BYTES = 2000
_MESSAGES = 30
_MOST_BYTES, _MOST_LINES = 1 << 20, 50_000
_ENDING_S = 1.0
_REFUSAL_S = 0.2  # ssh prints its reason before it closes the socket, but we may read it later

Explain = Callable[[Sequence[str], int | None, str], TransportError]
"""Says why a connection ended, from the messages of its process, its exit status and what was printed there last."""


class ShellConnection:
    """One connection. :meth:`exchange` may be cancelled: what then comes too late is passed over."""

    def __init__(
        self, place: str, process: asyncio.subprocess.Process, directory: SocketDirectory, explain: Explain
    ) -> None:
        """``directory`` is that of the sockets of this connection, which are gone with it."""
        self._place = place
        self._process = process
        self._explain = explain
        self._listening = asyncio.create_task(guarded(self._listen, self._fail), name=f"messages of {place}")
        self._word = secrets.token_hex(8)
        self._count = 0
        self._beside: deque[tuple[str, str, asyncio.Future[str]]] = deque()  # marks, questions, answers
        self._awaiting = False
        self.directory = directory.path
        self._sockets = directory
        self.messages: deque[str] = deque(maxlen=_MESSAGES)
        self._refusal = ""
        self._refused = asyncio.Event()
        self._noted = 0
        self._endless = False
        self._silence_s = frames.LOOP_SILENCE_S
        self._alive = asyncio.get_running_loop().call_later(self._silence_s / 4, self._keep_alive)
        directory.opened_by(process.pid)

    def next_mark(self) -> str:
        """A word that nothing printed there can hold before it was sent."""
        self._count += 1
        return f"{self._word}{self._count:x}"

    def send(self, orders: str) -> None:
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(orders.encode())

    def run(self, script: str, silence_s: int) -> None:
        """Have the remote loop run, which ends where it hears nothing for so long."""
        self._silence_s = silence_s
        self.send(script)
        self._alive.cancel()
        self._keep_alive()

    def _keep_alive(self) -> None:
        """Send an empty order from time to time, however rarely samples are taken: the remote loop ends without any."""
        self.send("\n")
        self._alive = asyncio.get_running_loop().call_later(self._silence_s / 4, self._keep_alive)

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
            raise TransportError("it printed {size} MB without a complete sample", size=FRAME_BYTES >> 20) from None
        except asyncio.IncompleteReadError as cut:
            raise await self._why(cut.partial, mark) from None
        except ConnectionError as error:
            raise TransportError("the connection broke ({error})", error=error.strerror) from None
        finally:
            self._awaiting = False
        return frames.cut_out(chunk.removesuffix(f"\n#{mark}.\n".encode()), mark)

    def ask_beside(self, order: str, words: Sequence[int]) -> asyncio.Future[str]:
        """Ask a question that is answered on the other stream, at any time; one at a time. The answer is cancelled if
        the connection is closed."""
        mark, answer = self.next_mark(), asyncio.get_running_loop().create_future()
        self._beside.append((mark, f"{order} {mark} {' '.join(map(str, words))}\n", answer))
        if len(self._beside) == 1:
            self.send(self._beside[0][1])
        return answer

    def give_up(self, answer: asyncio.Future[str]) -> None:
        """Do not wait for an answer any longer: the next question can be asked."""
        answer.cancel()
        if self._beside and self._beside[0][2] is answer:
            self._ask_next()

    def _ask_next(self) -> None:
        self._beside.popleft()
        while self._beside and self._beside[0][2].cancelled():
            self._beside.popleft()
        if self._beside:
            self.send(self._beside[0][1])

    def forget_refusal(self) -> None:
        self._refusal = ""
        self._refused.clear()

    async def refusal(self, *, wait: bool) -> str:
        """Why ssh did not open a connection that it was to forward, said since :meth:`forget_refusal` or a moment from
        now; ``""`` if it says nothing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REFUSAL_S if wait else 0.0):
                await self._refused.wait()
        return self._refusal

    async def close(self) -> None:
        """End the remote shell by the end of its input, then the process that leads there, surely."""
        for _, _, answer in self._beside:
            answer.cancel()
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
            # What the process started (ssh's ProxyCommand, say) can outlive it and hold its pipes open: asyncio closes
            # them only here, and kills a process that still runs.
            self._process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001
        await asyncio.gather(self._listening, return_exceptions=True)
        await asyncio.sleep(0)

    async def _drain(self) -> None:
        """Wait for the end of the process. What it still prints is read (here, or by an exchange that waits for its
        answer all the while), or it would not end."""
        stdout = self._process.stdout
        while stdout is not None and not self._awaiting and await stdout.read(CHUNK):
            pass
        await self._process.wait()

    async def _why(self, partial: bytes, mark: str) -> TransportError:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_S):
                await self._process.wait()
                await asyncio.shield(self._listening)
        if self._endless:
            return TransportError("its command keeps printing to standard error: the connection was closed")
        status = self._process.returncode
        printed = partial[-500:].decode("utf-8", "replace")
        error = self._explain(self.messages, status, printed)
        if f"\n#{mark}\n".encode() in partial and (status is None or status < 0 or status == 255):
            error.message = Message("{reason}, in the middle of a sample", reason=error.message)
        return error

    async def _listen(self) -> None:
        """Read the other stream to its end: what the process says, and answers between their marks."""
        stream = self._process.stderr
        text = ""
        while stream is not None and (chunk := await stream.read(CHUNK)):
            text += chunk.decode("utf-8", "replace")
            text = self._hear(text)
            if len(text) > _MOST_BYTES or self._noted > _MOST_LINES:
                self._endless = True
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                return
        if text.strip():
            self.messages.append(on_one_line(text[-_LINE_BYTES:]))

    def _fail(self, error: Message) -> None:
        """Nothing that the process says is heard any more: the connection ends, with this as the reason."""
        self.messages.append(str(error))
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _hear(self, text: str) -> str:
        """Take what is complete; returns the rest."""
        while True:
            mark, _, answer = self._beside[0] if self._beside else ("", "", None)
            before, found, rest = text.partition(f"\n#{mark}\n") if answer else (text, "", "")
            whole, newline, last = before.rpartition("\n")
            for line in filter(str.strip, whole.splitlines()):
                self._noted += 1
                message = on_one_line(line[:_LINE_BYTES])
                if "open failed" in message:
                    self._refusal = message
                    self._refused.set()
                else:
                    self.messages.append(message)
            if answer is None or not found:
                return newline + last  # the line end may be the beginning of a mark
            printed, ended, after = rest.partition(f"\n#{mark}.\n")
            if not ended:
                return found + rest
            self._ask_next()
            if not answer.cancelled():
                answer.set_result(printed)
            text = after
