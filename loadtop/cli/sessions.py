"""``loadtop sessions``: the recordings in the state directory."""

import time

from loadtop.cli.ends import DONE
from loadtop.options import parse
from loadtop.session.listing import recordings
from loadtop.words import plain


def main(verb: str, words: list[str]) -> int:
    """List them; the exit code."""
    parse([verb, *words])
    return _list()


def _list() -> int:
    """Print the recordings in the state directory, newest last."""
    found = list(recordings())
    if not found:
        print("No recordings yet: every test is recorded, unless --no-record is given.")
    for entry in found:
        if entry.problem:
            print(f"{entry.path.name}  {plain(entry.problem)}")
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started))
        what = f"{entry.verdict:<15} {plain(entry.what)}"
        print(f"{when}  {entry.duration_s:7.0f} s  {what}\n    {entry.path}")
    return DONE
