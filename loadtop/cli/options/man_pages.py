"""Manual pages in man(7)'s macros, made from the table of options: ``loadtop.1`` and one for each command."""

from collections.abc import Iterator

from loadtop import __version__
from loadtop.cli.exit_codes import DONE, FAILED_IF, FILE, INTERRUPTED, INVALID, UNREACHABLE, USAGE
from loadtop.cli.options.option import Command, Option
from loadtop.cli.options.table import ALL_TOPICS, COMMANDS, GROUPS

EXIT_CODES = {
    DONE: "Done.",
    FAILED_IF: "Done, and a --fail-if rule was true.",
    USAGE: "The command line is wrong; nothing was sent.",
    UNREACHABLE: "A target or a host cannot be reached, or a command of an experiment failed.",
    FILE: "A file cannot be read or written.",
    INVALID: "With --strict: the load generator was the limit, so the figures are not the server's.",
    INTERRUPTED: "Interrupted (the report is printed and the recording is complete), or the load on a public address "
    "was not confirmed (nothing was sent).",
}
FILES = {
    "$XDG_STATE_HOME/loadtop/*.loadtop": "Recordings of tests; in ~/.local/state if the variable is not set.",
    "~/.ssh/config": "Aliases of hosts, for --host NAME=ssh://ALIAS.",
}


def man_pages() -> dict[str, str]:
    """The pages by the names of their files. The page of ``run`` is that of loadtop itself."""
    return {f"{_name(command)}.1": "\n".join(_page(command)) + "\n" for command in COMMANDS.values()}


def _name(command: Command) -> str:
    return "loadtop" if command.name == "run" else f"loadtop-{command.name}"


def _page(command: Command) -> Iterator[str]:
    yield f'.TH {_name(command).upper()} 1 "" "loadtop {__version__}" "User Commands"'
    yield from (".SH NAME", f"{_text(_name(command))} \\- {_text(command.summary)}")
    yield from (".SH SYNOPSIS", f".B loadtop {_text(command.usage)}")
    if command.name == "run":
        yield ".SH COMMANDS"
        for other in COMMANDS.values():
            yield from _entry(f"loadtop {other.name}", other.summary)
        yield ".SH TOPICS"
        for topic, about in ALL_TOPICS.items():
            yield from _entry(f"loadtop help {topic}", about)
    yield ".SH OPTIONS"
    yield from _options(command.name)
    for part, summary in command.parts:
        yield from (
            f".SH LOADTOP {_text(command.name.upper())} {_text(part.upper())}",
            f"{_text(summary)}.".capitalize(),
        )
        yield from _options(f"{command.name} {part}")
    yield ".SH EXAMPLES"
    yield ".EX"
    yield from (_text(f"loadtop {example}") for example in command.examples)
    yield ".EE"
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from _entry(str(code), meaning)
    yield ".SH FILES"
    for file, content in FILES.items():
        yield from _entry(file, content)
    yield ".SH SEE ALSO"
    others = [other for other in COMMANDS.values() if other is not command]
    yield ",\n".join(f".BR {_text(_name(other))} (1)" for other in others)


def _options(command: str) -> Iterator[str]:
    for group in GROUPS:
        taken = group.taken_by(command)
        if taken:
            yield f".SS {_text(group.title.capitalize())}"
        for option in taken:
            yield from _entry(_heading(option), option.help_of(command))


def _heading(option: Option) -> str:
    if not option.name.startswith("-"):
        return option.metavar
    return f"{', '.join(option.names.split())} {option.metavar}".rstrip()


def _entry(term: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_text(term)}", _text(text))


def _text(text: str) -> str:
    """Escaped text without troff requests: backslashes, and dots and quotes at the beginning of a line. A dash is one
    that can be copied."""
    shown = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{shown}" if shown.startswith(".") else shown
