"""The command line: files of commands, which wire load, hosts, recordings and screen together.

Only this package knows all of them. Imports are in functions: a command's file is imported when the command runs, and
the processes of the demo, which live in here too, need nothing of it.
"""

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any, TextIO, cast

from loadtop.cli.exit_codes import DONE, FILE, INTERRUPTED, ExitError, UsageError
from loadtop.i18n.outside import printable


def main(argv: Sequence[str] | None = None) -> int:
    if argv is None:
        return _run_program()
    try:
        return run_command(argv)
    except ExitError as error:
        from loadtop.i18n import rendered
        from loadtop.model.secrets import url_without_secrets

        print(f"loadtop: {url_without_secrets(rendered(error.text))}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED


def run_command(words: Sequence[str]) -> int:
    """Run the command that the words name; returns its exit code. Raises ExitError."""
    from loadtop.cli.options.parser import read
    from loadtop.cli.options.table import COMMANDS, THEMES
    from loadtop.i18n import language_of, set_language

    options = read(words)
    options.argv = tuple(words)
    set_language(options.lang or language_of(os.environ))
    theme = options.theme or os.environ.get("LOADTOP_THEME") or THEMES[0]
    if theme not in THEMES:
        raise UsageError(f"LOADTOP_THEME must be one of {', '.join(THEMES)}, got '{theme}'")
    os.environ["LOADTOP_THEME"] = theme
    if options.ascii:
        os.environ["LOADTOP_ASCII"] = "1"
    module = importlib.import_module(f"loadtop.cli.{COMMANDS[options.command].module}")
    if not gc.isenabled():  # modules live to the end: the collector need not look through them again
        gc.freeze()
        gc.enable()
    code: int | None = module.main(options)  # None: done
    return code or DONE


class RobustStream:
    """Standard output or error. If the reader ends (``| head``), the test and its recording continue, and later output
    is lost (``gone``). ``problem`` is any other error, such as a full disk.

    All that is printed passes here, so no control character of a server, a host or a file reaches the terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.problem = ""
        self.gone = False

    def write(self, text: str) -> int:
        try:
            return self._stream.write(printable(text))
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.gone = True
        if not isinstance(error, BrokenPipeError):
            self.problem = error.strerror or str(error)
        # The rest of the stream's buffer must go somewhere.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def robust_streams() -> RobustStream:
    """Open standard streams that are closed and replace output and error; returns the new standard output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Python sets a closed stream to None, whatever its type says.
    sys.stdin = cast("TextIO | None", sys.stdin) or open(0, closefd=False)  # noqa: SIM115 - for as long as it runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # what the locale has no code for becomes a question mark
    out, told = (
        RobustStream(stream or open(number, "w", errors="replace", closefd=False))  # noqa: SIM115
        for number, stream in ((1, cast("TextIO | None", sys.stdout)), (2, cast("TextIO | None", sys.stderr)))
    )
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", told)
    return out


def _run_program() -> int:
    gc.disable()  # until the modules are imported: it would look through them several times, for an eighth of the start
    out = robust_streams()
    try:
        code = main(sys.argv[1:])
    except SystemExit as end:  # --help and --version
        code = int(end.code or DONE)
    out.flush()
    if out.problem:
        from loadtop.i18n import tr

        said = tr("cannot write to standard output: {error}", error=out.problem)
        print(f"loadtop: {said}", file=sys.stderr)
        return code or FILE
    return code
