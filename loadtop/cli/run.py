"""``loadtop URL``, ``loadtop watch``, ``loadtop demo``: a live test, with the cockpit or without; then its report."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from loadtop.analysis.fail_if import Watchdog
from loadtop.analysis.totals.totals import SummaryBuilder
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE, FAILED_IF, INTERRUPTED, INVALID, UNREACHABLE, ExitError
from loadtop.cli.hosts import connect_far, disconnect, watched_hosts
from loadtop.cli.load import ChosenLoad, choose_load
from loadtop.cli.options.command_line import Options, checked
from loadtop.cli.outputs import (
    begin_story,
    check_writable,
    open_request_logs,
    print_report,
    write_ab_files,
    write_json,
    write_page,
)
from loadtop.cli.recordings import recording_name, start_recorder, tell_recording
from loadtop.i18n import rendered
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.commands import Mark
from loadtop.pipeline.feed import Feed, PreparedFeed
from loadtop.pipeline.monitor import Monitor
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.marks import MarkPipe

if TYPE_CHECKING:
    from collectors.transport.ssh.transport import SshTransport
    from loadtop.engines.command import CommandLoad


def main(arguments: Namespace) -> int:
    """Run the test; returns the exit code."""
    options = checked(arguments)
    words = list(options.words)
    if options.engine.name != "builtin" and options.plan is not None:
        from loadtop.cli.engine import engine_load

        engine_load(options.engine, options.plan)
    program = None
    if options.program:
        from loadtop.cli.command import command_load, without_more_secrets

        program = command_load(options)
        words = without_more_secrets(words)
    check_writable(options.output)
    return asyncio.run(_run(options, words, program))


async def _run(options: Options, words: list[str], program: "CommandLoad | None") -> int:
    far = await connect_far(options)
    try:
        test = LiveTest(options, words, program, far)
    except ExitError:
        await disconnect(far)
        raise
    return await test.run()


class LiveTest:
    """Wires a load and machines to a recording, a summary and a screen; runs them once; leaves the report."""

    def __init__(
        self, options: Options, words: list[str], program: "CommandLoad | None", far: "dict[str, SshTransport]"
    ) -> None:
        self._options = options
        self._program = program
        self._far = far
        plan = options.plan if program is None else program.plan
        url = None if plan is None else plan.targets[0].url
        self._title = _title(options, words, url, program)
        self._recorder = start_recorder(options, words, self._title, url, program)
        self._summary = SummaryBuilder(url)
        self._watchdog = Watchdog(list(options.output.fail_if))
        self._story = begin_story(options.output, words, self._summary)
        self._request_logs = open_request_logs(options.output)
        self._marks = MarkPipe(self._title if self._recorder is None else self._recorder.path.name)
        self._closing: list[Callable[[], Awaitable[None]]] = [transport.close for transport in far.values()]

    async def run(self) -> int:
        """The exit code. Where the test breaks, what was measured is reported before the error is raised."""
        try:
            interrupted = await self._show()
        except Exception:
            # Whatever it was: the figures up to then are the user's.
            if self._summary.begun:
                self._leave(self._summary.as_json())
            raise
        figures = self._summary.as_json()
        self._leave(figures)
        return INTERRUPTED if interrupted else self._code(figures)

    async def _show(self) -> bool:
        """Run the test on the screen or line by line; True when a signal cut it short."""
        recording = recording_name(self._recorder)
        feed = PreparedFeed(self._title, self._options.watching.interval_s, recording, self._prepare)
        try:
            return await show(feed, self._options, program=self._program)
        finally:
            await self._close()

    async def _prepare(self) -> Feed:
        options, program = self._options, self._program
        if program is not None:
            chosen = ChosenLoad(program, program.plan)
        else:
            chosen = await choose_load(options, self._request_logs)
        if chosen.close is not None:
            self._closing.append(chosen.close)
        url = None if chosen.plan is None else chosen.plan.targets[0].url
        self._summary.url = url
        hosts = await asyncio.to_thread(watched_hosts, options, chosen.plan, chosen.status_url, self._far)
        monitor = Monitor(
            self._title if program is not None else url or self._title,
            chosen.source,
            hosts,
            interval_s=options.watching.interval_s,
            sinks=self._sinks(),
            until_load_ends=chosen.source is not None and not with_screen(options),
            recording=recording_name(self._recorder),
            url=url,
        )
        self._marks.listen(lambda text: monitor.command(Mark(text)))
        return monitor

    def _sinks(self) -> list[Callable[[Snapshot], None]]:
        sinks: list[Callable[[Snapshot], None]] = [] if self._recorder is None else [self._recorder.record]
        sinks += [self._summary.add, self._watchdog.add]
        if self._story is not None:
            sinks.append(self._story.add)
        return sinks

    async def _close(self) -> None:
        self._marks.close()
        for close in self._closing:
            await close()
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.close)

    def _leave(self, figures: dict[str, Any]) -> None:
        """Print the report and write the files."""
        options, program = self._options, self._program
        # Without a screen, standard output belongs to the command that was run.
        passing = program is not None and program.terminal is None
        out = sys.stderr if options.output.json == "-" or passing else sys.stdout
        print_report(self._summary, figures, options.output, out)
        tell_recording(self._recorder)
        write_page(self._story, options.output)
        if options.output.json is not None:
            write_json(figures, options.output.json)
        write_ab_files(self._summary, self._request_logs, options.output)
        for text in self._watchdog.broken(figures):
            print(f"--fail-if held: {text}", file=sys.stderr)

    def _code(self, figures: dict[str, Any]) -> int:
        """The exit code of a test that nobody cut short."""
        program, last = self._program, self._summary.last_load
        if program is not None and (code := program.failure):
            print(f"loadtop: {rendered(program.failure_message)}", file=sys.stderr)
            return code
        if last is not None and (last.state is LoadState.FAILED or _never_connected(last)):
            output = self._options.output
            if last.message and output.quiet and (output.ab or output.html_table is not None):
                print(f"loadtop: {rendered(last.message)}", file=sys.stderr)  # ab's report has no place for it
            return UNREACHABLE
        if self._options.output.strict and figures["verdict"]["bottleneck"] == "generator":
            print("--strict: the load generator was the bottleneck, the figures are not the server's", file=sys.stderr)
            return INVALID
        return FAILED_IF if self._watchdog.broken(figures) else DONE


def _never_connected(load: LoadSample) -> bool:
    """Whether no request got as far as a connection (with -r, which goes on all the same)."""
    return bool(load.requests) and load.failures is not None and load.failures.connect == load.requests


def _title(options: Options, words: list[str], url: str | None, program: "CommandLoad | None") -> str:
    if program is not None:
        return " ".join(words[words.index("--") + 1 :])
    return {"demo": "demo", "watch": "watching"}.get(options.command) or url or ""
