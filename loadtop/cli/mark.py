"""``loadtop mark``: note an event on the time axis of a running test."""

from pathlib import Path

from loadtop.cli.exit_codes import UnreachableError, UsageError
from loadtop.cli.options.table import Options
from loadtop.i18n import plain, tr
from loadtop.recording.library import SUFFIX
from loadtop.recording.marks import MarkError, called, name_of, running, send


def main(options: Options) -> None:
    if not options.mark.strip():
        raise UsageError("the mark is empty: write it as loadtop mark 'restarted httpd'")
    tests, session = running(), options.running
    if not tests:
        raise UnreachableError("no test is running: start one first")
    if session is not None:
        wanted = Path(session).name
        found = [path for path in tests if name_of(path) in (called(wanted), called(f"{wanted}{SUFFIX}"))]
        if not found:
            names = ", ".join(plain(name_of(path)) for path in tests)
            raise UnreachableError(
                f"no running test is recording to {plain(session)}; running tests are recording to {names}"
            )
        tests = found
    try:
        send(tests[-1], options.mark)
    except MarkError as error:
        raise UnreachableError(str(error)) from None
    print(tr("noted in {recording}", recording=plain(name_of(tests[-1]))))
