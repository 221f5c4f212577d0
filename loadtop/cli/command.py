"""The command of ``loadtop watch -- COMMAND``: found before anything starts, with a screen or without."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from loadtop.cli.display import with_screen
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import Options
from loadtop.engines.command import CommandLoad
from loadtop.generator.plan import Plan, PlanError, Step, Target
from loadtop.model.secrets import BLANK, without_secrets

_CREDENTIALS = re.compile(r"[^\s/:=]+:(?!\d+$)[^\s/].*")
_HEADER = re.compile(r"(?P<name>[\w-]+):\s.*")
_OPTION = re.compile(r"-{1,2}[A-Za-z]")


def command_load(options: Options) -> CommandLoad:
    """The command as a load. Raises UsageError where there is no such program."""
    name = options.program[0]
    if shutil.which(name) is None:
        path = Path(name)
        if "/" not in name:
            raise UsageError(f"{name} is not installed here, or not on PATH: install it, or give its path after --")
        if path.is_dir() or not path.exists():
            raise UsageError(f"there is no program {name}: check the path after --")
        raise UsageError(f"{name} is not executable: chmod +x it, or name its interpreter, as in -- sh {name}")
    if with_screen(options):
        return CommandLoad(options.program, plan=tested(options.program))
    # The JSON summary would have standard output for itself.
    files = (2 if options.output.json == "-" else 1, 2)
    return CommandLoad(options.program, files, plan=tested(options.program))


def tested(argv: Sequence[str]) -> Plan | None:
    """What the command seems to load: the first URL among its words. For roles of machines and status pages only."""
    for word in argv:
        if word.startswith(("http://", "https://")):
            try:
                return Plan((Target.parse(word),), (Step(concurrency=1),))
            except PlanError:
                continue
    return None


def without_more_secrets(words: Sequence[str]) -> list[str]:
    """The command line without secrets. After ``--``, what looks like credentials or a header's value is blanked too:
    options of other programs are not known here."""
    own = words.index("--") + 1
    return without_secrets([*words[:own], *map(_word, words[own:])])


def _word(word: str) -> str:
    if "://" in word or _OPTION.match(word):
        return word
    if header := _HEADER.fullmatch(word):
        return f"{header['name']}: {BLANK}"
    return BLANK if _CREDENTIALS.fullmatch(word) else word
