"""``loadtop compare``: runs side by side, with direction and significance."""

import sys
from pathlib import Path

from loadtop.cli.ends import DONE
from loadtop.cli.outputs import write_json
from loadtop.cli.recordings import opened
from loadtop.comparing.comparison import Comparison, compare
from loadtop.comparing.margin import DEFAULT_PERCENT
from loadtop.comparing.run import Run, read
from loadtop.comparing.wording import as_json, text
from loadtop.load_options import UsageError, positive
from loadtop.options import Parser
from loadtop.session.replay import moments


def main(verb: str, words: list[str]) -> int:
    """Compare the recordings; the exit code."""
    arguments = _parser(verb).parse_args(words)
    if len(arguments.sessions) < 2:
        raise UsageError("compare needs two recordings or more: loadtop sessions lists them")
    runs = [_read(path) for path in arguments.sessions]
    try:
        comparison = compare(runs, arguments.margin, arguments.by)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if arguments.json is not None:
        write_json(as_json(comparison), arguments.json)
    if arguments.json is None or arguments.text:
        _show(comparison, everything=arguments.all, on_screen=not arguments.text)
    return DONE


def _parser(verb: str) -> Parser:
    parser = Parser(prog=f"loadtop {verb}", description="Runs side by side.", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="help", help="show this and exit")
    parser.add_argument("sessions", nargs="*", type=Path, metavar="SESSION", help="others are held to the first")
    parser.add_argument("--by", choices=("step", "time"), help="what to align (default: steps, where there are)")
    parser.add_argument(
        "--margin", type=positive, default=DEFAULT_PERCENT, metavar="PERCENT", help="the least difference that matters"
    )
    parser.add_argument("--all", action="store_true", help="the numbers that do not differ, too")
    parser.add_argument("--text", action="store_true", help="as text, also on a terminal")
    parser.add_argument("--json", metavar="FILE", help="the comparison as JSON (- for standard output)")
    return parser


def _read(path: Path) -> Run:
    with opened(path) as session:
        meta = session.meta
        return read(session.path, meta.url, meta.command_line, moments(session.frames()))


def _show(comparison: Comparison, *, everything: bool, on_screen: bool) -> None:
    if on_screen and sys.stdout.isatty() and sys.stdin.isatty():
        from tui.comparing import run_comparison

        run_comparison(comparison)
    print(text(comparison, everything=everything), end="")
