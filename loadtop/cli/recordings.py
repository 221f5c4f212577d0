"""``loadtop replay`` and ``loadtop report``: show a recording in the cockpit again, or its report."""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from loadtop.analysis.totals.totals import RunResult
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE, FileError, UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.i18n import plain
from loadtop.recording.container import NoSessionError, SessionError
from loadtop.recording.library import SUFFIX, directory
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session
from loadtop.recording.totals import result_of


def main(options: Options) -> int:
    with opened(options.session) as session:
        if options.command == "replay":
            asyncio.run(_replay(session, options))
            return DONE
        result = result_of(session)
    _report(result, options)
    return DONE


@contextmanager
def opened(path: Path) -> Generator[Session]:
    """The recording. What had to be left out of a damaged one is said at the end; one without a readable interval is a
    :class:`FileError`."""
    found = find(path)
    try:
        with Session(found) as session:
            if next(session.frames(), None) is None and session.damage:
                raise FileError(f"{session.path} is damaged: no interval of it can be read ({session.damage[0]})")
            yield session
            for damage in session.damage:
                print(f"loadtop: {plain(str(found))} is damaged: {plain(damage)}", file=sys.stderr)
    except NoSessionError as error:
        raise FileError(f"{error} (loadtop sessions list names the recordings)") from None
    except SessionError as error:
        raise FileError(str(error)) from None


def find(path: Path) -> Path:
    """A name alone can also be that of a recording in the state directory, with or without its suffix."""
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
        raise UsageError(f"--ab: {options.session} contains no load; leave --ab out for the report of the hosts")
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
