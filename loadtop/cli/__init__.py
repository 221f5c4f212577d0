"""The command: each verb has a file here, which wires load, machines, recordings and screen together. Only these files
know all of them. ``VERBS`` says which file runs a verb; it is imported only then, so that none pays for another."""

import importlib
import os
import sys
from collections.abc import Sequence

from loadtop.cli.ends import FILE, INTERRUPTED, USAGE, EndError
from loadtop.load_options import UnreadableError, UsageError
from loadtop.words import LANGUAGES, language_of, plain, speak

VERBS = {
    "run": "test",
    "watch": "test",
    "demo": "test",
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run loadtop; returns the exit code of the contract."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        words = _spoken(words)
    except UsageError as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        return USAGE
    verb = words.pop(0) if words and words[0] in VERBS else "run"
    try:
        code: int = importlib.import_module(f"loadtop.cli.{VERBS[verb]}").main(verb, words)
    except (UsageError, EndError) as error:
        print(f"loadtop: {plain(str(error))}", file=sys.stderr)
        if isinstance(error, EndError):
            return error.code
        return FILE if isinstance(error, UnreadableError) else USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _spoken(words: list[str]) -> list[str]:
    """Take ``--lang`` and ``--ascii``, which every verb has, off the words, and speak and draw so."""
    ours = words[: words.index("--")] if "--" in words else words
    chosen = language_of(os.environ)
    kept: list[str] = []
    expecting = False
    for word in ours:
        name, equals, value = word.partition("=")
        if expecting or (name == "--lang" and equals):
            chosen, expecting = word if expecting else value, False
            if chosen not in LANGUAGES:
                raise UsageError(f"--lang {chosen}: give one of {', '.join(LANGUAGES)}")
        elif word == "--lang":
            expecting = True
        elif word == "--ascii":
            os.environ["LOADTOP_ASCII"] = "1"
        else:
            kept.append(word)
    if expecting:
        raise UsageError(f"--lang: give one of {', '.join(LANGUAGES)}")
    speak(chosen)
    return kept + words[len(ours) :]
