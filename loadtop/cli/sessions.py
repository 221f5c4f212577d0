"""``loadtop sessions``: the recordings in the state directory: choose one, list, rename, prune."""

import sys
import time
from pathlib import Path

from loadtop.cli import run_command
from loadtop.cli.display import can_draw
from loadtop.cli.exit_codes import DONE, FileError, UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.recordings import find
from loadtop.i18n import language, pad, plain, rendered, tr
from loadtop.recording.container import SessionError
from loadtop.recording.library import age, chosen, recordings, remove, rename


def main(options: Options) -> int:
    if options.part == "rename":
        return _rename(options.session, options.name)
    if options.part == "prune":
        return _prune(options.older_than, options.keep, dry_run=options.dry_run)
    if options.part is None and _on_terminal():
        return _choose()
    return _list()


def _choose() -> int:
    from tui.apps.page import PageApp
    from tui.drawing.appearance import Appearance
    from tui.screens.sessions import Chosen, SessionsPage

    at: Path | None = None
    while found := list(recordings()):
        chosen = PageApp[Chosen](SessionsPage(Appearance.of_terminal(), found, at=at)).run()
        if chosen is None:
            return DONE
        at = chosen.paths[0]
        run_command([chosen.verb, "--lang", language(), *map(str, chosen.paths)])
        if not _on_terminal():  # it was closed meanwhile
            return DONE
    return _list()


def _on_terminal() -> bool:
    return can_draw() and sys.stdin.isatty()


def _list() -> int:
    found = list(recordings())
    if not found:
        print(tr("No recordings yet: every test is recorded, unless --no-record is given."))
    for entry in found:
        if entry.problem:
            print(f"{plain(entry.path.name)}  {rendered(entry.problem)}")
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started))
        what = f"{pad(tr(entry.verdict), 15)} {plain(entry.what)}"
        print(f"{when}  {entry.duration_s:7.0f} {tr('s')}  {what}\n    {plain(str(entry.path))}")
    return DONE


def _rename(session: Path, name: str) -> int:
    path = find(session)
    try:
        print(f"renamed to {plain(str(rename(path, name)))}")
    except SessionError as error:
        raise FileError(f"{path.name} is not renamed: {error}") from None
    return DONE


def _prune(older_than: str | None, keep: int | None, *, dry_run: bool) -> int:
    if older_than is None and keep is None:
        raise UsageError("say what to remove: --older-than 30d, --keep 20, or both (--dry-run only shows it)")
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
            print(f"loadtop: {plain(entry.path.name)} stays: {error}", file=sys.stderr)
            kept = True
            continue
        count, size = count + 1, size + freed
        print(f"{'would remove' if dry_run else 'removed'} {plain(entry.path.name)}")
    print(
        f"{count} recording{'' if count == 1 else 's'}, {size / 1e6:.1f} MB{' would be free' if dry_run else ' freed'}"
    )
    if kept:
        raise FileError("not all of them could be removed")
    return DONE
