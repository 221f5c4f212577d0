"""Goes through the cells of an experiment: applies the variant, has it measured, stores the result.

The commands of a PLAN run locally or over SSH, within a time limit; the output of one that fails is kept.
"""

import asyncio
import os
import re
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from loadtop.analysis.experiment.plan import Cell, ExperimentPlan, Variant
from loadtop.analysis.experiment.results import CellResult, ResultFile
from loadtop.diagnosis.finding import Finding
from loadtop.i18n import Message, MessageError
from loadtop.pipeline.feed import Command, Feed
from loadtop.pipeline.snapshot import Snapshot

MOST_SHOWN = 4_000  # characters of the end of the output that are shown when a command fails
MOST_LINES = 200  # in which the status of a server's answer must come

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b", re.ASCII)

Show = Callable[[Snapshot], None]
Measure = Callable[[Cell], Awaitable[CellResult | None]]  # runs the test of a cell; None where it was cut short


class CommandError(MessageError):
    """A command failed or took too long; ``output`` is the end of its output."""

    def __init__(self, message: Message, output: str) -> None:
        super().__init__(message)
        self.output = output


def command_line(command: str, place: str | None) -> list[str]:
    """How a shell command is run: ``place`` is ``None``, ``local`` or ``ssh://[USER@]HOST[:PORT]``."""
    if place is None or place == "local":
        return ["sh", "-c", command]
    # The far shell gets the command as one word; host keys are checked, and there is no prompt for a password.
    return ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T", "--", place, command]


async def run_commands(commands: Sequence[str], *, place: str | None, directory: Path, seconds: float) -> None:
    """Run them one after another, each in its own session; raises :class:`CommandError` at the first that fails.

    Output goes to a file, not through a pipe: a server that a command starts may keep it open for as long as it runs.
    """
    for command in commands:
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                *command_line(command, place),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=directory,
                start_new_session=True,
            )
            try:
                code = await asyncio.wait_for(process.wait(), seconds)
                message = Message("ended with {code}", code=code) if code else None
            except TimeoutError:
                message = Message("did not end within {seconds} s", seconds=f"{seconds:g}")
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
            if message is not None:
                output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_SHOWN))
                text = "'{command}' {message}" if place in (None, "local") else "'{command}' on {place} {message}"
                failure = Message(text, command=command, place=place, message=message)
                raise CommandError(failure, output.read().decode("utf-8", "replace"))


async def wait_until_ready(ready: str, *, place: str | None, directory: Path, seconds: float) -> None:
    """Return when a URL answers below 500, or a command succeeds; raises :class:`CommandError` after ``seconds``."""
    if not ready:
        return
    deadline = asyncio.get_running_loop().time() + seconds
    said = ""
    while True:
        left = deadline - asyncio.get_running_loop().time()
        if ready.startswith(("http://", "https://")):
            said = await _refusal(ready, max(0.5, min(5.0, left)))
        else:
            try:
                await run_commands([ready], place=place, directory=directory, seconds=max(0.5, left))
                said = ""
            except CommandError as error:
                said = error.output or str(error)
        if not said:
            return
        if asyncio.get_running_loop().time() >= deadline:
            text = "the server is not ready after {seconds} s: {ready}"
            raise CommandError(Message(text, seconds=f"{seconds:g}", ready=ready), said)
        await asyncio.sleep(0.1)


async def _refusal(url: str, seconds: float) -> str:
    """Why the server at a URL is not ready; empty if it is. It can say anything, for as long as it likes."""
    parts = urlsplit(url)
    secure, host = parts.scheme == "https", parts.netloc.rpartition("@")[2]
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    try:
        port = parts.port or (443 if secure else 80)
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("ascii")
    except ValueError as error:
        return str(error)
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
            try:
                writer.write(request)
                for _ in range(MOST_LINES):  # of interim responses, which may come first
                    status = _STATUS.match(await reader.readline())
                    if status is not None and status[1] >= b"200":
                        return "" if status[1] < b"500" else f"it answers with {status[1].decode()}"
            finally:
                writer.close()
    except TimeoutError:
        return f"it does not answer within {seconds:.1f} s"
    except ConnectionError as error:  # asyncio names the call that failed, not why
        return os.strerror(error.errno) if error.errno else str(error)
    except OSError as error:
        return str(error)
    except ValueError:  # a line longer than any
        pass
    return "its answer is not one of HTTP"


@dataclass(frozen=True, slots=True)
class Progress:
    """The next cell, its number of how many, and about how many seconds are left (``None``: not known)."""

    number: int
    of: int
    cell: Cell
    left_s: float | None


class VariantError(MessageError):
    """A variant could not be applied. ``restored`` says whether the first one is in place again."""

    def __init__(self, variant: Variant, error: CommandError, restored: Message) -> None:
        super().__init__(Message("variant {name}: {error}", name=variant.name, error=error.message))
        self.output = error.output
        self.restored = restored


@dataclass(slots=True)
class Runner:
    """``measure`` runs a cell; ``on_progress`` is called before each. ``results`` are by the keys of their cells."""

    plan: ExperimentPlan
    file: ResultFile
    measure: Measure
    on_progress: Callable[[Progress], None]
    results: dict[str, CellResult] = field(init=False)
    _applied: Variant | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.results = {key: result for key, result in self.file.read().items() if result.state == "done"}

    async def run(self) -> bool:
        """Measure what is missing; False where it was cut short. Raises :class:`VariantError`, OSError."""
        cells = self.plan.cells()
        missing = [cell for cell in cells if cell.key not in self.results]
        took: list[float] = []
        try:
            for index, cell in enumerate(missing):
                each = self.plan.seconds(took)
                left = None if each is None else each * (len(missing) - index)
                self.on_progress(Progress(len(cells) - len(missing) + index + 1, len(cells), cell, left))
                began = time.monotonic()
                await self._switch_to(cell.variant)
                result = await self.measure(cell)
                if result is None:
                    return False
                took.append(time.monotonic() - began)
                self.results[cell.key] = result
                self.file.add(result)
        finally:
            if self.plan.finish:
                await run_commands(self.plan.finish, place=None, directory=self.plan.file.parent, seconds=60.0)
        return True

    async def _switch_to(self, variant: Variant) -> None:
        """Apply a variant, unless the cell before had it too; raises :class:`VariantError`."""
        if self._applied is variant:
            return
        self._applied = None
        try:
            await self._apply(variant)
        except CommandError as error:
            raise VariantError(variant, error, await self._restore(variant)) from None
        self._applied = variant

    async def _apply(self, variant: Variant) -> None:
        place = self.plan.hosts[variant.host] if variant.host else None
        directory = self.plan.file.parent
        await run_commands(variant.apply, place=place, directory=directory, seconds=variant.command_time)
        await wait_until_ready(variant.ready, place=place, directory=directory, seconds=variant.ready_time)

    async def _restore(self, failed: Variant) -> Message:
        """Apply the first variant again; what to say of it."""
        first = self.plan.variants[0]
        if failed is first:
            return Message("{name} is the first variant: there is nothing to go back to", name=first.name)
        try:
            await self._apply(first)
        except CommandError as error:
            text = "the first variant, {name}, could NOT be restored: {error}"
            return Message(text, name=first.name, error=error.message)
        return Message("the first variant, {name}, is restored", name=first.name)


class ExperimentFeed:
    """``go`` runs the experiment. Each cell is shown with :meth:`show_cell`; commands reach the one that runs."""

    def __init__(self, title: str, go: Callable[[], Awaitable[object]]) -> None:
        self.title = title
        self.url: str | None = None
        self.interval_s = 1.0
        self.recording = ""
        self.progress: Progress | None = None
        self._go = go
        self._show: Show = lambda _: None
        self._cell: Feed | None = None
        self._began = 0.0
        self._at = 0.0

    async def run(self, show: Show) -> None:
        self._show = show
        await self._go()

    async def show_cell(self, cell: Feed) -> None:
        """Run a cell to its end; its time continues that of the cell before."""
        self._cell, self._began = cell, self._at
        try:
            await cell.run(self._pass_on)
        finally:
            self._cell = None

    def command(self, command: Command) -> None:
        if self._cell is not None:
            self._cell.command(command)

    def _pass_on(self, snapshot: Snapshot) -> None:
        shown = later(snapshot, self._began)
        self._at = shown.at
        self._show(shown)


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    """The same moment on an axis that began so much earlier."""
    frame = replace(snapshot.measured.frame, at=snapshot.at + seconds)
    diagnosis = snapshot.diagnosis
    findings = tuple(_later(finding, seconds) for finding in diagnosis.findings)
    diagnosis = replace(diagnosis, verdict=_later(diagnosis.verdict, seconds), findings=findings)
    return replace(snapshot, measured=replace(snapshot.measured, frame=frame), diagnosis=diagnosis)


def _later(finding: Finding, seconds: float) -> Finding:
    symptoms = tuple(_later(symptom, seconds) for symptom in finding.symptoms)
    return replace(finding, since_s=finding.since_s + seconds, symptoms=symptoms)
