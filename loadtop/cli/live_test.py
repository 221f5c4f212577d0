"""One live test: hosts, load, recorder, totals and rules around one monitor, which hands all the same snapshots."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from loadtop import __version__
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE, FAILED_IF, INVALID, UNREACHABLE, FileError, UnreachableError, UsageError
from loadtop.cli.hosts import connect_remote, watched_hosts
from loadtop.cli.load import Load, safe_words
from loadtop.cli.options.table import Options
from loadtop.cli.outputs import HdrFile, append_job_summary, write_json, write_junit, write_page
from loadtop.generator.plan import Target
from loadtop.i18n import plain, rendered, tr
from loadtop.model import LoadSample, LoadState
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.feed import Feed, Mark, PreparedFeed
from loadtop.pipeline.monitor import Monitor
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionError, SessionMeta
from loadtop.recording.library import default_path, remove
from loadtop.recording.marks import MarkPipe

if TYPE_CHECKING:
    from loadtop.analysis.baseline import Baseline
    from loadtop.analysis.fail_if import RuleOutcome, Watchdog
    from loadtop.analysis.totals.totals import RunResult, Totals
    from loadtop.engines.command import CommandLoad
    from loadtop.recording.recorder import Recorder
    from loadtop.reports.tables import Table

Show = Callable[[Feed, Options], Awaitable[bool]]


class LiveTest:
    """Every snapshot goes to the recorder, the totals, the rules, and ``sinks``, in this order. ``program`` is a
    command that is the load. What is counted with is imported behind the painted screen."""

    def __init__(
        self, options: Options, title: str, url: str | None = None, *, program: "CommandLoad | None" = None
    ) -> None:
        self.options = options
        self.sinks: list[Callable[[Snapshot], None]] = []
        self._title = url_without_secrets(title)
        self._url = url
        self._program = program
        self._words = safe_words(options, options.words)
        self._recorder: Recorder | None = None
        self._baseline: Baseline | None = None
        self._outcomes: list[RuleOutcome] = []  # of the rules, once the test is over

    @cached_property
    def totals(self) -> "Totals":
        from loadtop.analysis.totals.totals import Totals

        return Totals(self._url, tuple(self._words))

    @cached_property
    def _watchdog(self) -> "Watchdog":
        from loadtop.analysis.fail_if import Watchdog

        return Watchdog(list(self.options.fail_if))

    def _read_baseline(self) -> "Baseline | None":
        """Raises FileError where it cannot be read, UsageError where it lacks what a rule is about."""
        options = self.options
        if options.baseline is None:
            return None
        from loadtop.analysis.baseline import Baseline
        from loadtop.cli.recordings import opened
        from loadtop.recording.reader import result_of

        with opened(options.baseline) as session:
            baseline = Baseline(session.path, result_of(session))
        relative = [condition for condition in options.fail_if if condition.beyond is not None]
        if not relative:
            said = tr("--baseline is not used: add a rule that names it, such as --fail-if 'p99>baseline+10%'")
            print(said, file=sys.stderr)
        for condition in relative:
            if missing := baseline.missing(condition):
                raise UsageError(f"--fail-if '{condition.text}': {missing}")
        return baseline

    async def run(self, prepare: Callable[[], Awaitable[Load]], display: Show = show) -> bool:
        """Run the load to its end; returns whether a signal cut it short. Raises ExitError. Connections are made first,
        because ssh may ask for something; the load is prepared behind the painted screen."""
        options = self.options
        self._baseline = self._read_baseline()
        async with AsyncExitStack() as closing:
            remote = await connect_remote(options, closing)
            name = self._title if self._url is None else Target.parse(self._url).origin.host
            name = name if self._program is None else self._program.name
            recorder = self._recorder = self._begin_recording(name)
            if recorder is not None:
                closing.callback(self._remove_empty_recording)
                closing.push_async_callback(asyncio.to_thread, recorder.close, self.result)
            marks = MarkPipe(self._title if recorder is None else recorder.path.name)
            closing.callback(marks.close)
            recording = "" if recorder is None or recorder.problem else str(recorder.path)

            if options.hdr is not None:
                histograms = HdrFile(options.hdr)
                closing.callback(histograms.close)
                self.sinks.append(histograms.add)
            if options.openmetrics is not None:
                from loadtop.cli.metrics_server import MetricsServer

                server = MetricsServer(lambda: self.totals.url)
                await server.start(*options.openmetrics)
                closing.push_async_callback(server.close)
                self.sinks.append(server.take)

            async def monitor() -> Monitor:
                from loadtop.cli.allocator import return_memory

                return_memory()
                load = await prepare()
                if load.close is not None:
                    closing.push_async_callback(load.close)
                self.totals.url = load.url
                sinks = [] if recorder is None else [recorder.record]
                ready = Monitor(
                    self._title if self._program is not None or self._url is None else load.url or self._title,
                    load.source,
                    await asyncio.to_thread(watched_hosts, options, load.plan, load.status_url, remote),
                    interval_s=options.interval,
                    sinks=[*sinks, self.totals.add, self._watchdog.add, *self.sinks],
                    until_load_ends=load.source is not None and not with_screen(options),
                    profiles=options.profile,
                    recording=recording,
                    url=load.url,
                )
                marks.listen(lambda text: ready.command(Mark(text)))
                return ready

            return await display(PreparedFeed(self._title, options.interval, recording, monitor), options)

    def _begin_recording(self, name: str) -> "Recorder | None":
        """Begin the recording that was asked for, by default in a file with that name in it. Raises FileError if a
        file that the user named cannot be written."""
        options = self.options
        if options.no_record:
            return None
        from loadtop.recording.recorder import Recorder

        now = time.time()
        meta = SessionMeta(
            started=now,
            command_line=tuple(self._words),
            url=self._url or "",
            version=__version__,
            interval_s=options.interval,
            title=self._title,
        )
        recorder = Recorder(options.record or default_path(name, now), meta=meta)
        if options.record is not None and recorder.problem:
            raise FileError(recorder.problem)
        return recorder

    def _remove_empty_recording(self) -> None:
        """Remove the recording of a test that failed before its first interval, so that its name is free again."""
        if self.totals.started is None:
            self._remove_recording()

    def _remove_recording(self) -> None:
        if self._recorder is not None and self._recorder.began:
            with suppress(SessionError):
                remove(self._recorder.path)

    def result(self) -> "RunResult":
        return self.totals.result()

    def check_reached(self, result: "RunResult", figures: dict[str, Any]) -> None:
        """Raise UnreachableError if the load never had a connection to its server, unless the generator lacked ports or
        files. Nothing is kept then but the files that scripts read."""
        load = result.last_load
        if self._program is not None or load is None or not load.is_unreachable or result.was_prevented:
            return
        self._remove_recording()
        self._write_files(result, figures)
        raise UnreachableError(load.message)

    def write(self, result: "RunResult", figures: dict[str, Any], report: Callable[[TextIO], None]) -> None:
        """Print the report, and write the files that were asked for; ``figures`` is the JSON summary."""
        options, program = self.options, self._program
        # Without a screen, standard output belongs to the command that was run.
        taken = options.json == "-" or (program is not None and program.terminal is None)
        report(sys.stderr if taken else sys.stdout)
        if self._recorder is not None and self._recorder.began and self._recorder.path.exists():
            print(tr("Recorded in {path}", path=self._recorder.path), file=sys.stderr)
        if self._recorder is not None and self._recorder.problem:
            print(plain(self._recorder.problem), file=sys.stderr)
        self._write_files(result, figures)
        self._print_outcomes(result)

    def _write_files(self, result: "RunResult", figures: dict[str, Any]) -> None:
        baseline, rules = self._baseline, list(self.options.fail_if)
        outcomes = self._outcomes = (
            self._watchdog.outcomes(figures)
            if baseline is None
            else self._watchdog.outcomes(figures, baseline.compared(rules, result, figures))
        )
        tables: list[Table] = []
        if outcomes:
            from loadtop.reports.rules import as_json, table

            tables.append(table(outcomes))
            figures = {**figures, "rules": as_json(outcomes)}
            if baseline is not None:
                figures["baseline"] = baseline.as_json(result)
        write_page(result, self.options, tables)
        if self.options.json is not None:
            write_json(figures, self.options.json)
        if self.options.junit is not None:
            write_junit(result, figures, outcomes, self._failure(), self.options.junit)
        append_job_summary(result, tables)

    def _print_outcomes(self, result: "RunResult") -> None:
        for outcome in self._outcomes:
            from loadtop.reports.rules import sentence

            if outcome.broken or outcome.condition.beyond is not None:
                became = tr("--fail-if rule is true") if outcome.broken else tr("--fail-if rule is not true")
                print(f"{became}: {outcome.condition.text}: {sentence(outcome)}", file=sys.stderr)
        if self._baseline is not None:
            for difference in self._baseline.differences(result):
                print(f"loadtop: --baseline: {plain(difference)}", file=sys.stderr)

    def code(self, *, generator_limited: bool, silent: bool = False) -> int:
        """The exit code of a test that was not cut short, after :meth:`write`. ``silent``: the reason of a failed load
        is not shown yet."""
        last = self.totals.load.last
        if self._failure():
            if last is not None and last.message and silent:
                print(f"loadtop: {rendered(last.message)}", file=sys.stderr)
            return UNREACHABLE
        if self.options.strict and generator_limited:
            print(
                tr("--strict: the load generator was the limit, so the figures are not the server's"), file=sys.stderr
            )
            return INVALID
        return FAILED_IF if any(outcome.broken for outcome in self._outcomes) else DONE

    def _failure(self) -> str:
        """Why there was no load to judge; empty where there was."""
        last = self.totals.load.last
        if last is None or not (last.state is LoadState.FAILED or _never_connected(last)):
            return ""
        return rendered(last.message) or tr("The load failed: no verdict")


def _never_connected(load: LoadSample) -> bool:
    """Whether no request got as far as a connection (with -r, which continues all the same)."""
    return bool(load.requests) and load.failures is not None and load.failures.connect == load.requests
