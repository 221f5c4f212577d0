"""argparse, built from the table of options. Only the parser of the command that runs is built: start-up stays fast."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from loadtop import __version__
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.option import Option, is_ssh_place
from loadtop.cli.options.table import (
    ALL_TOPICS,
    ARGUMENTS,
    COMMANDS,
    COMPLETION,
    EVERYWHERE,
    GROUPS,
    START_WITH,
    TOPICS,
    Options,
    options_of,
)


def read(words: Sequence[str]) -> Options:
    """Parse a command line; ``run`` is the command if none is named. Raises UsageError, and SystemExit for ``--help``
    and ``--version``."""
    end = list(words).index("--") if "--" in words else len(words)
    everywhere = Parser("loadtop")
    for option in EVERYWHERE.options:
        if option.name not in ("-h", "-V"):
            everywhere.take(option, "", everywhere.add_argument)
    options, own = everywhere.parse(words[:end], Options())
    command = options.command = own.pop(0) if own and own[0] in COMMANDS else "run"
    if command == "run" and own:
        _check_spelling(own[0])
    after = list(words[end:])
    options.words = (*([] if command == "run" else [command]), *own, *after)
    if command == "watch" and after:
        if len(after) == 1:
            raise UsageError("no command follows --: for example loadtop watch -- ab -n 1000 -c 10 http://127.0.0.1/")
        options.program, after = tuple(after[1:]), []
    parser = parser_of(command)
    options, unknown = parser.parse([*own, *after], options)
    if unknown:
        parser.refuse(unknown, command)
    _check_conflicts(options)
    return options


def _check_spelling(word: str) -> None:
    """Raise UsageError for a word that is nearly a command, rather than load a host of that name."""
    if not word.isalpha() or word == "localhost":
        return
    from difflib import get_close_matches

    meant = get_close_matches(word, COMMANDS, n=1, cutoff=0.75)
    if meant:
        raise UsageError(
            f"unknown command '{word}': did you mean loadtop {meant[0]}? (to load-test a host of that name, use "
            f"http://{word}/)"
        )


def _check_conflicts(options: Options) -> None:
    """Raise UsageError if two mutually exclusive options are given."""
    given: dict[str, str] = {}
    for option in options_of(options.command):
        if option.conflict and option.given(options):
            other = given.setdefault(option.conflict, option.name)
            if other != option.name:
                raise UsageError(f"{other} conflicts with {option.name}. Use one of them.")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes ``-n, --requests N`` rather than ``-n N, --requests N``."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {action.metavar or ''}".rstrip()


class Parser(argparse.ArgumentParser):
    """Takes options of the table. Raises UsageError, in one line, for what is wrong."""

    def __init__(self, prog: str, **texts: Any) -> None:
        super().__init__(
            prog, formatter_class=HelpFormatter, add_help=False, allow_abbrev=False, exit_on_error=False, **texts
        )
        self._options: dict[str, Option] = {}
        self._words: Sequence[str] = ()

    def take(self, option: Option, command: str, add: Callable[..., object]) -> None:
        """Add an option by a method of this parser or of a group."""
        self._options[option.name] = option
        given: dict[str, Any] = {"help": option.help_of(command).replace("%", "%%")}
        if option.name == "-h":
            given["action"] = "help"
        elif option.name == "-V":
            given |= {"action": "version", "version": f"loadtop {__version__}"}
        elif not option.metavar:
            given |= {"action": "store_true", "dest": option.attribute}
        else:
            given |= {"metavar": option.metavar, "default": option.default, "type": self._checked(option)}
            if option.nargs:
                given["nargs"] = option.nargs
            if option.repeatable:
                given |= {"action": "append", "default": []}
            if option.name.startswith("-"):
                given["dest"] = option.attribute
        add(*option.names.split(), **given)

    def _checked(self, option: Option) -> Callable[[str], object]:
        """The option's type, with an error that names the option as it was given, and the value."""

        def convert(word: str) -> object:
            try:
                return option.convert(word)
            except ValueError as error:
                given = {each.partition("=")[0] for each in self._words}
                name = next((name for name in option.names.split() if name in given), option.name)
                raise UsageError(f"{name} must be {error}, got '{word}'") from None

        return convert

    def parse(self, words: Sequence[str], options: Options) -> tuple[Options, list[str]]:
        """The options with their values, and the words that are not understood."""
        self._words = words
        try:
            return self.parse_known_args(list(words), options)
        except argparse.ArgumentError as error:
            name = (error.argument_name or "").split("/")[0]
            option = self._options.get(name)
            if option is None or not option.metavar:
                self.error(f"{name}: {error.message}")
            self.error(f"{name} needs a value: {option.expected}")

    def refuse(self, unknown: Sequence[str], command: str) -> NoReturn:
        """Raise UsageError for words that are not understood."""
        place = next(filter(is_ssh_place, unknown), "")
        if place:
            raise UsageError(f"{place}: give the machine a name: --host NAME={place}")
        word = next((word for word in unknown if word.startswith("-")), unknown[0])
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        for group in GROUPS:
            for option in group.options:
                if name in option.names.split() and name.startswith("-"):
                    advice = option.refused.get(command) or group.refused.get(command) or "leave it out"
                    self.error(f"{name} does not work with {command}: {advice}")
        self.error(f"unknown argument '{word}'")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(options: Options) -> None:
    """Run ``loadtop help [TOPIC]``: print the help of a command, a page of ``docs``, or the completion of a shell."""
    topic, *more = options.topic or ["help"]
    if topic == COMPLETION:
        _print_completion(more)
        return
    if more or topic not in (*TOPICS, *COMMANDS):
        names = " ".join(options.topic)
        raise UsageError(f"no help on '{names}': topics are {', '.join(ALL_TOPICS)}; or name a command, such as tune")
    if topic in TOPICS:
        from loadtop.cli.options.topics import print_topic

        print_topic(topic)
    else:
        print(parser_of(topic).format_help(), end="", flush=True)


def _print_completion(shells: Sequence[str]) -> None:
    from loadtop.cli.options.completion import SHELLS, script

    if len(shells) != 1 or shells[0] not in SHELLS:
        raise UsageError(f"name the shell: loadtop help {COMPLETION} {' | '.join(SHELLS)}")
    print(script(shells[0]), end="", flush=True)


def parser_of(command: str) -> Parser:
    about = COMMANDS[command]
    parser = Parser(
        "loadtop" if command == "run" else f"loadtop {command}",
        usage=f"loadtop {about.usage}",
        description=f"{_sentence(about.summary)}{_overview() if command in ('run', 'help') else ''}",
        epilog="\n".join(["examples:", *(f"  loadtop {example}" for example in about.examples)]),
    )
    _fill(parser, command)
    if about.parts:
        parts = parser.add_subparsers(dest="part", metavar="COMMAND", title="commands")
        for name, summary in about.parts:
            words = [option.metavar for option in ARGUMENTS.taken_by(f"{command} {name}")]
            usage = " ".join([f"loadtop {command} {name} [OPTIONS]", *words])
            part = parts.add_parser(name, help=summary, usage=usage, description=_sentence(summary))
            _fill(part, f"{command} {name}")
    return parser


def _fill(parser: Parser, command: str) -> None:
    for group in GROUPS:
        options = group.taken_by(command)
        heading = parser.add_argument_group(group.title) if options else parser
        for option in options:
            parser.take(option, command, heading.add_argument)


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _overview() -> str:
    lines = [f"  loadtop {command.name:<12}{command.summary}" for command in COMMANDS.values()]
    topics = [f"  loadtop help {topic:<12}{about}" for topic, about in ALL_TOPICS.items()]
    start = "\n\nmain commands (loadtop COMMAND --help lists the options):"
    return "\n".join([start, *lines[:START_WITH], "\nmore commands:", *lines[START_WITH:], "\ntopics:", *topics])
