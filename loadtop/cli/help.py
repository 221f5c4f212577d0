"""``loadtop help [TOPIC]``: longer texts than --help, the same as in docs/."""

import importlib
import sys
from importlib.resources import files

from loadtop.cli.exit_codes import UsageError

TOPICS = {
    "ab": "what differs from ab, and why",
    "generator": "how load is made: models, steps, workers",
    "scripts": "exit codes, --fail-if, the JSON summary",
    "plan": "the PLAN of loadtop experiment, every key of it",
}
"""The texts of ``loadtop/cli/manual``."""


def main(verb: str, words: list[str]) -> int:
    """Print the text on a topic, a verb's options, or the list of topics. An unknown topic is a usage error."""
    from loadtop.cli import VERBS

    if len(words) > 1:
        raise UsageError(f"loadtop {verb} takes one topic: {', '.join(TOPICS)}")
    topic = words[0] if words else ""
    if topic in VERBS and topic != verb:
        return int(importlib.import_module(f"loadtop.cli.{VERBS[topic]}").main(topic, ["--help"]))
    if topic in TOPICS:
        _print((files("loadtop.cli") / "manual" / f"{topic}.md").read_text("utf-8"))
    elif topic in ("", verb, "-h", "--help"):
        _print(_overview())
    else:
        raise UsageError(f"there is no help on '{topic}': topics are {', '.join(TOPICS)}; or name a verb, such as tune")
    return 0


def _overview() -> str:
    from loadtop.cli.options.command_line import USAGE

    lines = [f"loadtop help {topic:<12}{what}" for topic, what in TOPICS.items()]
    return "\n".join([USAGE.rstrip(), "", *lines, "", "loadtop --help         every option", ""])


def _print(text: str) -> None:
    print(text, end="", file=sys.stdout, flush=True)
