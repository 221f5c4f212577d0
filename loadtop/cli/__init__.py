"""The command line: files of commands, which wire load, hosts, recordings and screen together.

Only this package knows all of them. Imports are in functions: a command's file is imported when the command runs, and
the processes of the demo, which live in here too, need nothing of it.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from loadtop.cli.exit_codes import DONE, FILE, INTERRUPTED, ExitError, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run loadtop; returns the exit code."""
    if argv is None:
        return _run_program()
    try:
        return run_command(argv)
    except ExitError as error:
        from loadtop.i18n import rendered

        print(f"loadtop: {rendered(error.text)}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED


def run_command(words: Sequence[str]) -> int:
    """Run the command that the words name; returns its exit code. Raises ExitError."""
    from loadtop.cli.options.parser import read
    from loadtop.cli.options.table import COMMANDS, THEMES
    from loadtop.i18n import language_of, set_language

    options = read(words)
    set_language(options.lang or language_of(os.environ))
    theme = options.theme or os.environ.get("LOADTOP_THEME") or THEMES[0]
    if theme not in THEMES:
        raise UsageError(f"LOADTOP_THEME must be one of {', '.join(THEMES)}, got '{theme}'")
    os.environ["LOADTOP_THEME"] = theme
    if options.ascii:
        os.environ["LOADTOP_ASCII"] = "1"
    module = importlib.import_module(f"loadtop.cli.{COMMANDS[options.command].module}")
    code: int | None = module.main(options)  # None: done
    return code or DONE


def _run_program() -> int:
    from loadtop.cli.standard_streams import robust_streams

    out = robust_streams()
    try:
        code = main(sys.argv[1:])
    except SystemExit as end:  # --help and --version
        code = int(end.code or DONE)
    out.flush()
    if out.problem:
        print(f"loadtop: cannot write to standard output: {out.problem}", file=sys.stderr)
        return code or FILE
    return code
