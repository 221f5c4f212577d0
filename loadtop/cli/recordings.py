"""``loadtop replay``, ``report``, ``sessions``: show a recording again or its report; choose, list, rename, prune."""

import asyncio
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from loadtop.analysis.totals.totals import RunResult
from loadtop.cli import run_command
from loadtop.cli.display import on_terminal, show, with_screen
from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.cli.options.table import Options
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.i18n import language, pad, plain, plural, rendered, tr
from loadtop.recording.container import NoSessionError, SessionError
from loadtop.recording.library import SUFFIX, age, chosen, recordings, remove, rename
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session, result_of
from loadtop.recording.state import directory


def main(options: Options) -> None:
    if options.command == "sessions":
        _manage(options)
        return
    with opened(options.session) as session:
        if options.command == "replay":
            asyncio.run(_replay(session, options))
            return
        result = result_of(session)
    _report(result, options)


@contextmanager
def opened(path: Path) -> Generator[Session]:
    """The recording. What had to be left out of a damaged one is said at the end; one without a readable interval is a
    :class:`FileError`."""
    found = find(path)
    try:
        with Session(found) as session:
            if next(session.frames(), None) is None and session.damage:
                raise FileError(f"{session.path} is damaged: none of its intervals can be read ({session.damage[0]})")
            yield session
            for damage in session.damage:
                print(f"loadtop: {plain(str(found))} is damaged: {plain(damage)}", file=sys.stderr)
    except NoSessionError as error:
        raise FileError(f"{error} (loadtop sessions list shows the recordings)") from None
    except SessionError as error:
        raise FileError(str(error)) from None


def find(path: Path) -> Path:
    """A bare name can also be a recording in the state directory, with or without its suffix."""
    if path.name != str(path):
        return path
    named = (directory() / name for name in (path.name, f"{path.name}{SUFFIX}"))
    with suppress(OSError):  # a name that is too long, say: opening it tells
        if not path.exists():
            return next((candidate for candidate in named if candidate.is_file()), path)
    return path


async def _replay(session: Session, options: Options) -> None:
    if not with_screen(options):
        await show(SessionPlayer(session), options)
        return
    from tui.apps.cockpit import run_cockpit
    from tui.apps.replay import ReplayCockpit

    await run_cockpit(ReplayCockpit(SessionPlayer(session, stay=True)))


def _report(result: RunResult, options: Options) -> None:
    from loadtop.analysis.tune.sizing import TuneResult
    from loadtop.reports import tables, tune

    if options.ab and result.last_load is None:
        raise UsageError(
            f"--ab: {options.session} has no load to report. Leave out --ab to print the report of its hosts."
        )
    tuned = TuneResult.of(result.steps) if result.is_tune else None
    out = sys.stderr if options.json == "-" else sys.stdout
    if options.json is not None:
        write_json(result.summary if tuned is None else tuned.into(result.summary), options.json)
    write_page(result, options)
    if options.markdown:
        print(tables.markdown(result), end="", file=out)
    elsewhere = options.json is not None or options.html is not None or options.markdown
    if tuned is not None and not options.ab and (options.text or not elsewhere):
        print(tune.report(tuned), end="", file=out)
    elif options.text or options.ab or not elsewhere:
        print_report(result, options, out)


def _manage(options: Options) -> None:
    if options.part == "rename":
        path = find(options.session)
        try:
            print(f"renamed to {plain(str(rename(path, options.name)))}")
        except SessionError as error:
            raise FileError(f"cannot rename {path.name}: {error}") from None
    elif options.part == "prune":
        _prune(options.older_than, options.keep, dry_run=options.dry_run)
    elif options.part is None and on_terminal():
        _choose()
    else:
        _list()


def _choose() -> None:
    from tui.apps.terminal import PageApp
    from tui.drawing.appearance import Appearance
    from tui.screens.sessions import Chosen, SessionsPage

    at: Path | None = None
    while found := list(recordings()):
        choice = PageApp[Chosen](SessionsPage(Appearance.of_terminal(), found, at=at)).run()
        if choice is None:
            return
        at = choice.paths[0]
        run_command([choice.verb, "--lang", language(), *map(str, choice.paths)])
        if not on_terminal():  # it was closed meanwhile
            return
    _list()


def _list() -> None:
    found = list(recordings())
    if not found:
        print(tr("No recordings yet. Every test is recorded unless you give --no-record."))
    for entry in found:
        if entry.problem:
            print(f"{plain(entry.path.name)}  {rendered(entry.problem)}")
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started))
        what = f"{pad(plain(tr(entry.verdict)), 15)} {plain(entry.what)}"
        print(f"{when}  {entry.duration_s:7.0f} {tr('s')}  {what}\n    {plain(str(entry.path))}")


def _prune(older_than: str | None, keep: int | None, *, dry_run: bool) -> None:
    if older_than is None and keep is None:
        raise UsageError(
            "give --older-than 30d, --keep 20 (removes all but the newest 20) or both; --dry-run removes nothing"
        )
    try:
        older_s = None if older_than is None else age(older_than)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from None
    count = size = 0
    kept = False
    for entry in chosen(list(recordings()), time.time(), older_s=older_s, keep=keep):
        try:
            freed = remove(entry.path, dry_run=dry_run)
        except SessionError as error:
            said = tr("{recording} was not removed: {error}", recording=plain(entry.path.name), error=error)
            print(f"loadtop: {said}", file=sys.stderr)
            kept = True
            continue
        count, size = count + 1, size + freed
        print(tr("would remove {recording}" if dry_run else "removed {recording}", recording=plain(entry.path.name)))
    counted = plural(count, "{n} recording", "{n} recordings")
    freed_mb = "{recordings}, {size:.1f} MB would be freed" if dry_run else "{recordings}, {size:.1f} MB freed"
    print(tr(freed_mb, recordings=counted, size=size / 1e6))
    if kept:
        raise FileError("some recordings could not be removed")
