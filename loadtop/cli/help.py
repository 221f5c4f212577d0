"""``loadtop help [TOPIC]``: texts longer than ``--help``: some of ``docs``."""

from pathlib import Path

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.options.parser import parser_of
from loadtop.cli.options.table import COMMANDS, TOPICS


def main(options: Options) -> None:
    topic = options.topic[0] if options.topic else "help"
    if len(options.topic) > 1 or topic not in (*TOPICS, *COMMANDS):
        names = " ".join(options.topic)
        raise UsageError(f"no help on '{names}': topics are {', '.join(TOPICS)}; or name a command, such as tune")
    if topic in TOPICS:
        installed, checkout = Path(__file__).parent / "manual", Path(__file__).parents[2] / "docs"
        text = ((installed if installed.is_dir() else checkout) / f"{topic}.md").read_text("utf-8")
    else:
        text = parser_of(topic).format_help()
    print(text, end="", flush=True)
