"""The command: wires load, machines, recorder, summary and screen together. The only file that knows all of them."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from loadtop.condition import Watchdog
from loadtop.feed import Feed, PreparedFeed
from loadtop.load_options import UsageError
from loadtop.moment import Moment
from loadtop.monitor import LoadSource, Monitor
from loadtop.options import Options, parse
from loadtop.summary.builder import SummaryBuilder
from loadtop.words import plain

if TYPE_CHECKING:
    from collectors.transport.ssh import SshTransport
    from loadtop.load.plan import Plan
    from loadtop.session.recorder import Recorder

DONE, FAILED_IF, USAGE, UNREACHABLE, FILE, INVALID, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class FileError(OSError):
    """A file that was asked for cannot be read or written; the message says which and why."""


class UnreachableError(Exception):
    """A machine to be watched cannot be reached; the message says why and what to type."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run loadtop; returns the exit code of the contract."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        options = parse(words)
        if options.command == "sessions":
            return _list_sessions()
        if options.command in ("replay", "report"):
            return _read_session(options)
        return asyncio.run(_test(options, words))
    except UsageError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return USAGE
    except FileError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return FILE
    except UnreachableError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return UNREACHABLE
    except KeyboardInterrupt:
        return INTERRUPTED


async def _test(options: Options, words: list[str]) -> int:
    """A live test, with the cockpit or without; then its report."""
    plan = options.plan
    url = None if plan is None else plan.targets[0].url
    title = {"demo": "demo", "watch": "watching"}.get(options.command) or url or ""
    _check_writable(options)
    far = await _connect(options)
    recorder = _recorder(options, words, title, url)
    summary = SummaryBuilder(url)
    watchdog = Watchdog(list(options.output.fail_if))
    sinks: list[Callable[[Moment], None]] = [summary.add, watchdog.add]
    if recorder is not None:
        sinks.insert(0, recorder.record)
    with_screen = sys.stdout.isatty() and not options.output.headless
    closing: list[Callable[[], Any]] = [transport.close for transport in far.values()]

    async def prepare() -> Feed:
        load, tested, status = await _load(options, closing)
        summary.url = None if tested is None else tested.targets[0].url
        hosts = await asyncio.to_thread(_hosts, options, tested, status, far)
        return Monitor(
            summary.url or title,
            load,
            hosts,
            interval_s=options.watching.interval_s,
            sinks=sinks,
            until_load_ends=load is not None and not with_screen,
            recording=_recording(recorder),
        )

    feed = PreparedFeed(title, options.watching.interval_s, _recording(recorder), prepare)
    try:
        interrupted = await _show(feed, options)
    finally:
        for close in closing:
            await close()
        if recorder is not None:
            await asyncio.to_thread(recorder.close)
    return _finish(options, summary, watchdog, recorder, interrupted)


async def _load(
    options: Options, closing: list[Callable[[], Any]]
) -> tuple[LoadSource | None, "Plan | None", str | None]:
    """The load to run, its plan, and the status page of a server that was started for it."""
    if options.command == "watch":
        return None, None, None
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
        return LoadPool(demo), demo, target.status_url
    if options.plan is None:
        raise UsageError("no URL given: for example loadtop http://127.0.0.1/ (see loadtop --help)")
    return LoadPool(options.plan), options.plan, None


async def _connect(options: Options) -> "dict[str, SshTransport]":
    """Connections to the far machines, by name, made before the screen is taken and before any load is sent."""
    places = {name: place for name, place in options.watching.hosts if place != "local"}
    if not places:
        return {}
    from collectors.problem import TransportError
    from collectors.transport.ssh import SshTransport

    far = {name: SshTransport(place) for name, place in places.items()}
    try:
        outcomes = await asyncio.gather(*(transport.connect() for transport in far.values()), return_exceptions=True)
    except asyncio.CancelledError:
        await asyncio.gather(*(transport.close() for transport in far.values()))
        raise
    for name, outcome in zip(far, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            await asyncio.gather(*(transport.close() for transport in far.values()))
            if isinstance(outcome, TransportError):
                raise UnreachableError(f"--host {name}: {outcome}")
            raise outcome
    return far


def _hosts(options: Options, plan: "Plan | None", status: str | None, far: "dict[str, SshTransport]") -> Sequence[Any]:
    """The machines to watch. Blocks while names are looked up and libraries load: not for the event loop."""
    from collectors.host import far_host, local_host

    target = None if plan is None else plan.targets[0].host
    found = {name for name, transport in far.items() if target and _is_same(target, transport.address)}
    here = "target+generator" if target and not found and _is_here(target) else "generator"
    hosts: list[Any] = []
    for index, (name, _) in enumerate(options.watching.hosts):
        urls = [url for owner, url in options.watching.apache if owner == name or (owner is None and index == 0)]
        transport = far.get(name)
        role = "target" if plan is None or name in found else ("other" if transport else here)
        target_url = plan.targets[0].url if plan is not None and "target" in role else None
        if transport is not None:
            hosts.append(far_host(name, role, transport, apache_urls=urls, target_url=target_url))
            continue
        if status is not None:
            urls.append(status)
        # Beside a target elsewhere, a web server that happens to run here is no part of the test.
        find = role != "generator"
        hosts.append(local_host(name=name, role=role, apache_urls=urls, find_servers=find, target_url=target_url))
    return hosts


def _is_same(target: str, address: str) -> bool:
    """Whether two names lead to the same machine, as far as that is known here."""
    import socket

    found: list[set[Any]] = []
    for host in (target, address):
        try:
            found.append({each[4][0] for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
        except OSError:
            return target == address
    return bool(found[0] & found[1])


def _is_here(host: str) -> bool:
    """Whether an address of this machine answers to that name (so the load shares the machine with the server)."""
    import socket

    try:
        found = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        # A connected datagram socket sends nothing; its own address is the target's exactly if that is here.
        with suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            if probe.getsockname()[0] == address[0]:
                return True
    return False


async def _headless(feed: Feed, options: Options) -> bool:
    """Run the feed to its end, a line per interval; True when a signal cut it short."""
    from loadtop.headless import Printer

    task = asyncio.ensure_future(feed.run((lambda _: None) if options.output.quiet else Printer().show))
    loop = asyncio.get_running_loop()
    interrupted: list[int] = []

    def interrupt(number: int) -> None:
        interrupted.append(number)
        task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, interrupt, number)
    try:
        if options.command == "watch" and options.duration_s is not None:
            await asyncio.wait({task}, timeout=options.duration_s)
            task.cancel()
        await task
    except asyncio.CancelledError:
        pass
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    return bool(interrupted)


def _finish(
    options: Options,
    summary: SummaryBuilder,
    watchdog: Watchdog,
    recorder: "Recorder | None",
    interrupted: bool,
) -> int:
    """Print the report, write the files; the exit code."""
    figures = summary.as_json()
    out = sys.stderr if options.output.json == "-" else sys.stdout
    _print_report(summary, figures, options, out)
    if recorder is not None:
        said = f"Not recorded: {plain(recorder.problem)}" if recorder.problem else f"Recorded in {recorder.path}"
        print(said, file=sys.stderr)
    if options.output.json is not None:
        _write_json(figures, options.output.json)
    if options.output.percentiles_csv is not None:
        from loadtop.summary.ab import percentiles_csv

        _write(percentiles_csv(summary.load), options.output.percentiles_csv, "the percentiles")
    broken = watchdog.broken(figures)
    for text in broken:
        print(f"--fail-if held: {text}", file=sys.stderr)
    last = summary.last_load
    if interrupted:
        return INTERRUPTED
    if last is not None and last.state == "failed":
        return UNREACHABLE
    if options.output.strict and figures["verdict"]["bottleneck"] == "generator":
        print("--strict: the load generator was the bottleneck, the figures are not the server's", file=sys.stderr)
        return INVALID
    return FAILED_IF if broken else DONE


def _recording(recorder: "Recorder | None") -> str:
    """The file that is written; empty where none is or can be."""
    return "" if recorder is None or recorder.problem else str(recorder.path)


def _print_report(summary: SummaryBuilder, figures: dict[str, Any], options: Options, out: TextIO) -> None:
    """Ours, or ab's where that was asked for."""
    output = options.output
    if output.ab:
        from loadtop.summary.ab import ab_report

        text = ab_report(summary.load, percentiles=output.ab_percentiles, spread=output.ab_spread)
    else:
        from loadtop.summary.text import report

        text = report(figures)
    with suppress(BrokenPipeError):
        print(text, end="", file=out, flush=True)


def _write_json(figures: dict[str, Any], name: str) -> None:
    text = json.dumps(figures, indent=1)
    if name == "-":
        print(text, flush=True)
    else:
        _write(text + "\n", Path(name), "the JSON summary")


def _write(text: str, path: Path, what: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise FileError(f"cannot write {what} to {path}: {error.strerror}") from None


def _check_writable(options: Options) -> None:
    """Fail before the load begins, not after it, where a file could not be written."""
    output = options.output
    named = [(None if output.json in (None, "-") else output.json, "the JSON summary")]
    named.append((None if output.percentiles_csv is None else str(output.percentiles_csv), "the percentiles"))
    for name, what in named:
        if name is None:
            continue
        try:
            with Path(name).open("a"):
                pass
        except OSError as error:
            raise FileError(f"cannot write {what} to {name}: {error.strerror}") from None


def _recorder(options: Options, words: list[str], title: str, url: str | None) -> "Recorder | None":
    if options.output.no_record:
        return None
    from loadtop import __version__
    from loadtop.session.meta import SessionMeta, default_path, without_secrets
    from loadtop.session.recorder import Recorder

    now = time.time()
    host = options.plan.targets[0].host if options.plan is not None else title
    meta = SessionMeta(
        started=now,
        command_line=tuple(without_secrets(words)),
        url=url or "",
        version=__version__,
        interval_s=options.watching.interval_s,
    )
    asked = options.output.record
    recorder = Recorder(asked or default_path(host, now), meta=meta)
    if asked is not None and recorder.problem:
        raise FileError(recorder.problem)
    return recorder


def _read_session(options: Options) -> int:
    """Show a recording again, or sum it up."""
    from loadtop.session.reader import Session, SessionError
    from loadtop.session.replay import ReplayFeed, moments

    path = options.session
    if path is None:
        raise UsageError("no recording given: loadtop sessions lists them")
    try:
        with Session(path) as session:
            if options.command == "replay":
                feed = ReplayFeed(f"replay of {path.name}", session.meta.interval_s, session.frames())
                asyncio.run(_show(feed, options))
                return DONE
            summary = SummaryBuilder(session.meta.url or None)
            for moment in moments(session.frames()):
                summary.add(moment)
    except SessionError as error:
        raise FileError(str(error)) from None
    figures = summary.as_json()
    if options.output.json is not None:
        _write_json(figures, options.output.json)
    if options.output.json is None or options.text or options.output.ab:
        _print_report(summary, figures, options, sys.stdout)
    return DONE


async def _show(feed: Feed, options: Options) -> bool:
    """Show the feed to its end, on the screen or line by line; True when a signal cut it short."""
    if sys.stdout.isatty() and not options.output.headless:
        from tui.app import run_cockpit

        return await run_cockpit(feed) is not None
    return await _headless(feed, options)


def _list_sessions() -> int:
    """Print the recordings in the state directory, newest last."""
    from loadtop.session.listing import recordings

    found = list(recordings())
    if not found:
        print("No recordings yet: every test is recorded, unless --no-record is given.")
    for entry in found:
        if entry.problem:
            print(f"{entry.path.name}  {plain(entry.problem)}")
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started))
        what = f"{entry.verdict:<15} {plain(entry.url or '(watched)')}"
        print(f"{when}  {entry.duration_s:7.0f} s  {what}\n    {entry.path}")
    return DONE
