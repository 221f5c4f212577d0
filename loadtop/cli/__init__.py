"""The command: each verb has a file here, which wires load, machines, recordings and screen together. Only these files
know all of them. ``VERBS`` says which file runs a verb; it is imported only then, so that none pays for another."""

import importlib
import os
import sys
from collections.abc import Sequence

from loadtop.cli.exit_codes import DONE, FILE, INTERRUPTED, USAGE, ExitError, UsageError
from loadtop.i18n import LANGUAGES, language_of, plain, set_language

VERBS = {
    "run": "run",
    "watch": "run",
    "demo": "run",
    "tune": "tune",
    "experiment": "experiment",
    "replay": "replay",
    "report": "report",
    "compare": "compare",
    "export": "export",
    "mark": "mark",
    "sessions": "sessions",
    "help": "help",
    "doctor": "doctor",
}
"""The file that runs each verb. It has ``main(verb, words) -> exit code``."""


THEMES = ("terminal", "dark", "light", "safe")
"""Colours of the cockpit: the terminal's own sixteen, or those of a theme (``tui.drawing.appearance``)."""

CHOICES = {"--lang": LANGUAGES, "--theme": THEMES}


def main(argv: Sequence[str] | None = None) -> int:
    """Run loadtop; returns the exit code of the contract."""
    if argv is None:
        return _run_alone(sys.argv[1:])
    words = list(argv)
    try:
        words = _spoken(words)
    except UsageError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return USAGE
    verb = words.pop(0) if words and words[0] in VERBS else "run"
    try:
        if verb == "run" and words:
            _check_spelling(words[0])
        code: int = importlib.import_module(f"loadtop.cli.{VERBS[verb]}").main(verb, words)
    except ExitError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _check_spelling(word: str) -> None:
    """Raise :class:`UsageError` for a word that is nearly a verb, rather than to load a host of that name."""
    if not word.isalpha() or word == "localhost":
        return
    from difflib import get_close_matches

    meant = get_close_matches(word, VERBS, n=1, cutoff=0.75)
    if meant:
        raise UsageError(f"'{word}' is no verb: did you mean loadtop {meant[0]}? (a host of that name: http://{word}/)")


def _run_alone(words: list[str]) -> int:
    """Run loadtop as a program of its own, with the standard streams that it was given."""
    from loadtop.cli.standard_streams import keep_streams

    out = keep_streams()
    try:
        code = main(words)
    except SystemExit as end:  # --help and --version
        code = int(end.code or DONE)
    out.flush()
    if out.problem:
        print(f"loadtop: cannot write to standard output: {out.problem}", file=sys.stderr)
        return code or FILE
    return code


def _spoken(words: list[str]) -> list[str]:
    """Take ``--lang``, ``--theme`` and ``--ascii``, which every verb has, off the words, and speak and draw so."""
    ours = words[: words.index("--")] if "--" in words else words
    chosen = {"--lang": language_of(os.environ), "--theme": os.environ.get("LOADTOP_THEME") or THEMES[0]}
    kept: list[str] = []
    expecting = ""
    for word in ours:
        name, equals, value = word.partition("=")
        if expecting:
            chosen[expecting], expecting = word, ""
        elif name in CHOICES:
            chosen[name], expecting = value, "" if equals else name
        elif word == "--ascii":
            os.environ["LOADTOP_ASCII"] = "1"
        else:
            kept.append(word)
    for name, known in CHOICES.items():
        if expecting == name or chosen[name] not in known:
            what = name if expecting == name else f"{name} {chosen[name]}"
            raise UsageError(f"{what}: give one of {', '.join(known)}")
    os.environ["LOADTOP_THEME"] = chosen["--theme"]
    set_language(chosen["--lang"])
    return kept + words[len(ours) :]
