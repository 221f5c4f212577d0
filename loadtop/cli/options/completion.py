"""Completion for bash, zsh and fish: ``loadtop help completion bash``.

Each script is a file beside this one, which looks for recordings and for hosts of the user's ssh configuration itself,
so that the tab key starts no Python; and tables of commands and options, which are made here.
"""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.resources import files

from loadtop.cli.options.option import Option
from loadtop.cli.options.table import ALL_TOPICS, COMMANDS, options_of

_KINDS = {
    "FILE": "file", "PLAN.toml": "file", "DIR": "directory", "SESSION": "session", "NAME=PLACE": "host",
}  # fmt: skip
"""What the values of options are, by what help calls them: the shell completes these."""


def script(shell: str) -> str:
    """The script for one of :data:`SHELLS`, with a line end."""
    fixed = files("loadtop.cli.options").joinpath(f"completion.{shell}").read_text("utf-8")
    head, blank, rest = fixed.partition("\n\n")
    return head + blank + "".join(f"{line}\n" for line in SHELLS[shell]()) + "\n" + rest


def _places() -> Iterator[tuple[str, list[Option]]]:
    """Each command, and each ``COMMAND/PART``: with its options and arguments."""
    for command in COMMANDS.values():
        yield command.name, list(options_of(command.name))
        for part, _ in command.parts:
            yield f"{command.name}/{part}", list(options_of(f"{command.name} {part}"))


def _is_argument(option: Option) -> bool:
    return not option.name.startswith("-")


def _words(option: Option) -> tuple[str, ...]:
    return (*ALL_TOPICS, *COMMANDS) if option.metavar == "TOPIC" else option.choices


def _kind(option: Option) -> str:
    return _KINDS.get(option.metavar, "value")


def _bash() -> Iterator[str]:
    parts = [name for name, _ in _places() if "/" in name]
    yield f"_loadtop_commands='{' '.join(COMMANDS)}' _loadtop_parts='{' '.join(parts)}'"
    yield "_loadtop_options() { # of a command; and what comes after the word before"
    yield "    case $1 in"
    for place, options in _places():
        yield f"        {place})"
        yield f"            names='{' '.join(option.names for option in options if not _is_argument(option))}'"
        yield "            case $2 in"
        by_value = defaultdict[str, list[str]](list)
        for option in options:
            if option.metavar and not _is_argument(option):
                by_value[_bash_value(option)] += option.names.split()
        yield from (f"                {'|'.join(names)}) {value} ;;" for value, names in by_value.items())
        yield "            esac ;;"
    yield "    esac"
    yield "}"
    yield "_loadtop_arguments() {"
    yield "    case $1 in"
    for place, options in _places():
        argument = next(filter(_is_argument, options), None)
        command, _, part = place.partition("/")
        if COMMANDS[command].parts and not part:
            yield f"        {place}) kind=words words='{' '.join(name for name, _ in COMMANDS[command].parts)}' ;;"
        elif argument is not None and _bash_value(argument) != "kind=value":
            yield f"        {place}) {_bash_value(argument)} ;;"
    yield "    esac"
    yield "}"


def _bash_value(option: Option) -> str:
    words = _words(option)
    return f"kind=words words={shlex.quote(' '.join(words))}" if words else f"kind={_kind(option)}"


def _zsh() -> Iterator[str]:
    yield "typeset -ga _loadtop_commands=("
    yield from (f"    {shlex.quote(f'{command.name}:{command.summary}')}" for command in COMMANDS.values())
    yield ")"
    yield "typeset -ga _loadtop_parts=("
    for command in COMMANDS.values():
        yield from (f"    {shlex.quote(f'{command.name}/{part}:{summary}')}" for part, summary in command.parts)
    yield ")"
    yield "_loadtop_options() {"
    yield "    case $1 in"
    for place, options in _places():
        yield f"        {place}) _arguments -S \\"
        for option in options:
            yield from (f"            {shlex.quote(each)} \\" for each in _zsh_arguments(option, place))
        yield "            ;;"
    yield "    esac"
    yield "}"


_ZSH_ACTIONS = {
    "file": "_files", "directory": "_files -/", "session": "_loadtop_sessions", "host": "_loadtop_hosts", "value": "()",
}  # fmt: skip


def _zsh_arguments(option: Option, place: str) -> Iterator[str]:
    words = _words(option)
    action = f"({' '.join(words)})" if words else _ZSH_ACTIONS[_kind(option)]
    message = option.metavar.replace(":", "\\:")
    if _is_argument(option):
        yield f"*:{message}:{action}"
        return
    about = option.help_of(place.replace("/", " "))
    for character in "\\[]:":
        about = about.replace(character, f"\\{character}")
    value = f":{message}:{action}" if option.metavar else ""
    yield from (f"*{name}[{about}]{value}" for name in option.names.split())


def _fish() -> Iterator[str]:
    yield f"set -g __loadtop_commands {' '.join(COMMANDS)}"
    for command in COMMANDS.values():
        yield f"complete -c loadtop -n __fish_is_first_token -a {command.name} -d {_fish_quoted(command.summary)}"
        for part, summary in command.parts:
            condition = f"__loadtop_runs {command.name}; and __fish_is_nth_token 2"
            yield f"complete -c loadtop -n {_fish_quoted(condition)} -a {part} -d {_fish_quoted(summary)}"
    for place, options in _places():
        condition = f"__loadtop_runs {place.replace('/', ' ')}"
        for option in options:
            what = _fish_option(option, option.help_of(place.replace("/", " ")))
            yield f"complete -c loadtop -n {_fish_quoted(condition)} {what}"


_FISH_VALUES = {
    "file": "-r -F", "directory": "-x -a '(__fish_complete_directories)'", "session": "-x -a '(__loadtop_sessions)'",
    "host": "-x -a '(__loadtop_hosts)'", "value": "-x",
}  # fmt: skip


def _fish_option(option: Option, about: str) -> str:
    words = _words(option)
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names.split()]
    if _is_argument(option):
        parts.clear()
    if option.metavar:
        value = f"-x -a {_fish_quoted(' '.join(words))}" if words else _FISH_VALUES[_kind(option)]
        parts.append(value.removeprefix("-x ") if _is_argument(option) else value)
    return " ".join([*parts, f"-d {_fish_quoted(about)}"])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
