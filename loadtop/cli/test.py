"""``loadtop URL``, ``loadtop watch``, ``loadtop demo``: a live test, with the cockpit or without; then its report."""

import asyncio
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from loadtop.cli.ends import DONE, FAILED_IF, INTERRUPTED, INVALID, UNREACHABLE, FileError, UnreachableError
from loadtop.cli.machines import connect_far, watched_hosts
from loadtop.cli.outputs import check_writable, open_journals, print_report, tell, write, write_ab_files, write_json
from loadtop.cli.screen import show, with_screen
from loadtop.commands import Mark
from loadtop.condition import Watchdog
from loadtop.feed import Feed, PreparedFeed
from loadtop.load_options import UsageError
from loadtop.moment import Moment
from loadtop.monitor import LoadSource, Monitor
from loadtop.options import Options, parse
from loadtop.session.mark_pipe import MarkPipe
from loadtop.summary.builder import SummaryBuilder
from loadtop.words import plain

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from loadtop.load.journal import JournalFiles
    from loadtop.load.plan import Plan
    from loadtop.reporting.story import Story
    from loadtop.session.recorder import Recorder


def main(verb: str, words: list[str]) -> int:
    """Understand the words and run the test; the exit code."""
    options = parse([verb, *words])
    if options.engine.name == "locust" and options.plan is not None:
        from loadtop.cli.engine import locust_settings

        locust_settings(options.engine, options.plan)
    program = None
    if options.program:
        from loadtop.cli.command import command_load, without_more_secrets

        program = command_load(options)
        words = without_more_secrets(words)
    return asyncio.run(_test(options, words if verb == "run" else [verb, *words], program))


async def _test(options: Options, words: list[str], program: "CommandLoad | None") -> int:
    """A live test, with the cockpit or without; then its report."""
    plan = options.plan if program is None else program.plan
    url = None if plan is None else plan.targets[0].url
    title = {"demo": "demo", "watch": "watching"}.get(options.command) or url or ""
    if program is not None:
        title = " ".join(words[words.index("--") + 1 :])
    check_writable(options)
    far = await connect_far(options)
    recorder = start_recorder(options, words, title, url, program)
    summary = SummaryBuilder(url)
    watchdog = Watchdog(list(options.output.fail_if))
    sinks: list[Callable[[Moment], None]] = [summary.add, watchdog.add]
    story = _story(options, words, summary)
    if story is not None:
        sinks.append(story.add)
    if recorder is not None:
        sinks.insert(0, recorder.record)
    journals = open_journals(options)
    marks = MarkPipe(title if recorder is None else recorder.path.name)
    closing: list[Callable[[], Any]] = [transport.close for transport in far.values()]

    async def prepare() -> Feed:
        running = (program, plan, None) if program is not None else await _load(options, closing, journals)
        load, tested, status = running
        summary.url = None if tested is None else tested.targets[0].url
        hosts = await asyncio.to_thread(watched_hosts, options, tested, status, far)
        monitor = Monitor(
            title if program is not None else summary.url or title,
            load,
            hosts,
            interval_s=options.watching.interval_s,
            sinks=sinks,
            until_load_ends=load is not None and not with_screen(options),
            recording=recording_name(recorder),
        )
        marks.listen(lambda text: monitor.command(Mark(text)))
        return monitor

    feed = PreparedFeed(title, options.watching.interval_s, recording_name(recorder), prepare)
    failure: Exception | None = None
    interrupted = False
    try:
        interrupted = await show(feed, options, program=program)
    except Exception as error:
        failure = error
    finally:
        marks.close()
        for close in closing:
            await close()
        if recorder is not None:
            await asyncio.to_thread(recorder.close)
    if failure is not None and not summary.begun:
        raise failure
    if story is not None and options.output.html is not None:
        from loadtop.reporting.html import html

        write(html(story), options.output.html, "the page")
    code = _finish(options, summary, watchdog, recorder, journals, interrupted, program)
    if failure is not None:
        raise failure
    return code


async def _load(
    options: Options, closing: list[Callable[[], Any]], journals: "JournalFiles | None"
) -> tuple[LoadSource | None, "Plan | None", str | None]:
    """The load to run, its plan, and the status page of a server that was started for it."""
    if options.command == "watch":
        return None, None, None
    from loadtop.load.again import RepeatedLoad
    from loadtop.load.pool import LoadPool

    if options.command == "demo":
        from loadtop.demo import demo_plan, start_target
        from loadtop.demo.target import DemoError

        try:
            target = await start_target()
        except DemoError as error:
            raise UnreachableError(str(error)) from None
        closing.append(target.close)
        demo = demo_plan(target)
        return RepeatedLoad(lambda: LoadPool(demo)), demo, target.status_url
    if options.plan is None:
        raise UsageError("no URL given: for example loadtop http://127.0.0.1/ (see loadtop --help)")
    plan = options.plan
    if options.engine.name == "locust":
        from loadtop.cli.engine import locust_settings
        from loadtop.engines.locust.load import LocustLoad

        settings = locust_settings(options.engine, plan)
        return RepeatedLoad(lambda: LocustLoad(settings)), plan, None
    return RepeatedLoad(lambda: LoadPool(plan, journals=journals, said=partial(tell, options))), plan, None


def _finish(
    options: Options,
    summary: SummaryBuilder,
    watchdog: Watchdog,
    recorder: "Recorder | None",
    journals: "JournalFiles | None",
    interrupted: bool,
    program: "CommandLoad | None",
) -> int:
    """Print the report, write the files; the exit code."""
    figures = summary.as_json()
    # Without a screen, standard output belongs to the command that was run.
    passing = program is not None and program.terminal is None
    out = sys.stderr if options.output.json == "-" or passing else sys.stdout
    print_report(summary, figures, options, out)
    if recorder is not None:
        kept = f"Recorded in {recorder.path}" if recorder.kept else ""
        for said in (kept, plain(recorder.problem)):
            if said:
                print(said, file=sys.stderr)
    if options.output.json is not None:
        write_json(figures, options.output.json)
    write_ab_files(summary, journals, options)
    broken = watchdog.broken(figures)
    for text in broken:
        print(f"--fail-if held: {text}", file=sys.stderr)
    last = summary.last_load
    if interrupted:
        return INTERRUPTED
    if program is not None and (code := program.failure):
        print(f"loadtop: {plain(program.complaint)}", file=sys.stderr)
        return code
    if last is not None and last.state == "failed":
        return UNREACHABLE
    if options.output.strict and figures["verdict"]["bottleneck"] == "generator":
        print("--strict: the load generator was the bottleneck, the figures are not the server's", file=sys.stderr)
        return INVALID
    return FAILED_IF if broken else DONE


def _story(options: Options, words: list[str], summary: SummaryBuilder) -> "Story | None":
    if options.output.html is None:
        return None
    from loadtop.reporting.story import Story
    from loadtop.session.secrets import without_secrets

    return Story(command_line=tuple(without_secrets(words)), summary=summary)


def recording_name(recorder: "Recorder | None") -> str:
    """The file that is written; empty where none is or can be."""
    return "" if recorder is None or recorder.problem else str(recorder.path)


def start_recorder(
    options: Options, words: list[str], title: str, url: str | None, program: "CommandLoad | None" = None
) -> "Recorder | None":
    """Begin the recording that was asked for; raises FileError where a named file cannot be written."""
    if options.output.no_record:
        return None
    from loadtop import __version__
    from loadtop.session.meta import SessionMeta, default_path, without_secrets
    from loadtop.session.recorder import Recorder

    now = time.time()
    host = options.plan.targets[0].host if options.plan is not None else title
    if program is not None:
        host = program.name
    meta = SessionMeta(
        started=now,
        command_line=tuple(without_secrets(words)),
        url=url or "",
        version=__version__,
        interval_s=options.watching.interval_s,
        title=title,
    )
    asked = options.output.record
    recorder = Recorder(asked or default_path(host, now), meta=meta)
    if asked is not None and recorder.problem:
        raise FileError(recorder.problem)
    return recorder
