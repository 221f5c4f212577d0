"""``loadtop mark``: note an event on the time axis of a running test."""

from pathlib import Path

from loadtop.cli.exit_codes import DONE, UnreachableError, UsageError
from loadtop.cli.options.option import Options
from loadtop.i18n import plain
from loadtop.recording.library import SUFFIX
from loadtop.recording.marks import MarkError, called, name_of, running, send


def main(options: Options) -> int:
    if not options.text.strip():
        raise UsageError("the mark is empty: write it as loadtop mark 'restarted httpd'")
    path = _chosen(running(), options.session)
    try:
        send(path, options.text)
    except MarkError as error:
        raise UnreachableError(str(error)) from None
    print(f"noted in {plain(name_of(path))}")
    return DONE


def _chosen(tests: list[Path], session: str | None) -> Path:
    if not tests:
        raise UnreachableError("none of your tests is running: start one first")
    if session is None:
        return tests[-1]
    wanted = Path(session).name
    found = [path for path in tests if name_of(path) in (called(wanted), called(f"{wanted}{SUFFIX}"))]
    if not found:
        names = ", ".join(plain(name_of(path)) for path in tests)
        raise UnreachableError(f"no running test records to {plain(session)}; running tests record to {names}")
    return found[-1]
