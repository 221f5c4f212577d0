"""``loadtop mark``: note a moment on the time axis of a test that runs."""

from pathlib import Path

from loadtop.cli.exit_codes import DONE, UnreachableError, UsageError
from loadtop.cli.options.command_line import Parser
from loadtop.i18n import plain
from loadtop.recording.library import SUFFIX
from loadtop.recording.marks import MarkError, called, name_of, running, send


def main(verb: str, words: list[str]) -> int:
    """Send the mark; the exit code."""
    about = "Note a moment on the time axis of a running test."
    parser = Parser(prog=f"loadtop {verb}", description=about, add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="help", help="show this and exit")
    parser.add_argument("text", metavar="TEXT", help='what happens now: "restarted httpd"')
    parser.add_argument("--session", metavar="FILE", help="the test that records there (default: the newest)")
    arguments = parser.parse_args(words)
    if not arguments.text.strip():
        raise UsageError("the mark says nothing: loadtop mark 'restarted httpd'")
    path = _chosen(running(), arguments.session)
    try:
        send(path, arguments.text)
    except MarkError as error:
        raise UnreachableError(str(error)) from None
    print(f"noted in {plain(name_of(path))}")
    return DONE


def _chosen(tests: list[Path], session: str | None) -> Path:
    if not tests:
        raise UnreachableError("no test of yours is running: start one, then mark it")
    if session is None:
        return tests[-1]
    wanted = Path(session).name
    found = [path for path in tests if name_of(path) in (called(wanted), called(f"{wanted}{SUFFIX}"))]
    if not found:
        names = ", ".join(plain(name_of(path)) for path in tests)
        raise UnreachableError(f"no running test records to {plain(session)}; there are: {names}")
    return found[-1]
