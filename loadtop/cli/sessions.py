"""``loadtop sessions``: the recordings in the state directory: choose one, list, rename, prune."""

import sys
import time
from pathlib import Path

from loadtop.cli import compare, replay
from loadtop.cli.display import can_draw
from loadtop.cli.exit_codes import DONE, FileError, UsageError
from loadtop.cli.options.command_line import SESSION_HELP, Parser
from loadtop.cli.options.load import positive
from loadtop.cli.recordings import find
from loadtop.i18n import pad, plain, rendered, tr
from loadtop.recording.container import SessionError
from loadtop.recording.library import HousekeepingError, age, chosen, recordings, remove, rename


def main(verb: str, words: list[str]) -> int:
    """List them, or do what was asked; the exit code."""
    arguments = _parser(verb).parse_args(words)
    if arguments.do == "rename":
        return _rename(arguments.session, arguments.name)
    if arguments.do == "prune":
        return _prune(arguments.older_than, arguments.keep, dry_run=arguments.dry_run)
    if arguments.do == "choose" and _on_terminal():
        return _choose()
    return _list()


def _parser(verb: str) -> Parser:
    about = "The recordings in the state directory."
    parser = Parser(prog=f"loadtop {verb}", description=about, allow_abbrev=False)
    parser.set_defaults(do="choose")
    verbs = parser.add_subparsers(metavar="DO", title="what to do (default: on a terminal, choose one to replay)")
    verbs.add_parser("list", help="list them, newest last").set_defaults(do="list")
    renaming = verbs.add_parser("rename", help="give one another name", allow_abbrev=False)
    renaming.add_argument("session", type=Path, metavar="SESSION", help=SESSION_HELP)
    renaming.add_argument("name", metavar="NAME", help="the new name, with or without .loadtop")
    renaming.set_defaults(do="rename")
    pruning = verbs.add_parser("prune", help="remove old ones", allow_abbrev=False)
    pruning.add_argument("--older-than", metavar="AGE", help="that ended so long ago: 30d, 12h, 2w")
    pruning.add_argument("--keep", type=positive, metavar="N", help="but never the newest N")
    pruning.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    pruning.set_defaults(do="prune")
    return parser


def _choose() -> int:
    """Show the recordings on the screen, and do what is chosen there until it is left."""
    from tui.apps.sessions import SessionsApp

    at: Path | None = None
    while found := list(recordings()):
        chosen = SessionsApp(found, at=at).run()
        if chosen is None:
            return DONE
        at = chosen.paths[0]
        VERBS[chosen.verb](chosen.verb, [str(path) for path in chosen.paths])
        if not _on_terminal():  # it was closed meanwhile
            return DONE
    return _list()


def _on_terminal() -> bool:
    return can_draw() and sys.stdin.isatty()


VERBS = {"replay": replay.main, "compare": compare.main}
"""What can be chosen on the page."""


def _list() -> int:
    """Print the recordings in the state directory, newest last."""
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
    except (HousekeepingError, SessionError) as error:
        raise FileError(f"{path.name} is not renamed: {error}") from None
    return DONE


def _prune(older_than: str | None, keep: float | None, *, dry_run: bool) -> int:
    if older_than is None and keep is None:
        raise UsageError("say what to remove: --older-than 30d, --keep 20, or both (--dry-run only shows it)")
    if keep is not None and keep != int(keep):
        raise UsageError(f"--keep {keep:g}: a whole number")
    try:
        older_s = None if older_than is None else age(older_than)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from None
    count = size = 0
    kept = False
    for entry in chosen(list(recordings()), time.time(), older_s=older_s, keep=None if keep is None else int(keep)):
        try:
            freed = remove(entry.path, dry_run=dry_run)
        except HousekeepingError as error:
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
