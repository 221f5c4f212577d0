"""Check the English of documents, help and messages against ``scripts/prose.toml`` (``make prose``)."""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.catalog import ROOT

RULES = Path(__file__).with_suffix(".toml")
GENERATED = {"docs/messages.md"}  # its texts are checked where they are written
JAPANESE = {"README.ja.md"}
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that must not occur, and what to write instead."""

    pattern: re.Pattern[str]
    advice: str


@dataclass(frozen=True, slots=True)
class Finding:
    place: str
    found: str
    advice: str

    def __str__(self) -> str:
        return f"{self.place}: '{self.found}': {self.advice}"


def rules() -> tuple[Rule, ...]:
    known = tomllib.loads(RULES.read_text(encoding="utf-8"))["rules"]
    return tuple(Rule(re.compile(each["pattern"], re.IGNORECASE | re.MULTILINE), each["advice"]) for each in known)


def check(place: str, text: str, known: Iterable[Rule]) -> Iterator[Finding]:
    """Yield what the rules find in one text. A line break within a sentence counts as a blank."""
    flat = re.sub(r"(?<!\n)\n(?![\n|#-])", " ", text)
    for rule in known:
        for match in rule.pattern.finditer(flat):
            yield Finding(place, match[0].strip(), rule.advice)


def documents() -> Iterator[tuple[str, str]]:
    """Yield each page and its prose, without code."""
    for path in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))):
        name = path.relative_to(ROOT).as_posix()
        if name not in GENERATED | JAPANESE:
            yield name, CODE.sub("`code`", CODE_BLOCK.sub("", path.read_text(encoding="utf-8")))


def shown() -> Iterator[tuple[str, str]]:
    """Yield each help text and each message of the code."""
    from scripts.messages import helps, texts_by_file  # it parses all source files

    yield from ((f"{name} --help", text) for name, text in helps())
    for path, texts in texts_by_file().items():
        yield from ((path.relative_to(ROOT).as_posix(), PLACEHOLDER.sub("x", text)) for text in sorted(texts))


def main() -> int:
    """Print every finding; 1 where there is one."""
    known = rules()
    findings = [each for source in (documents, shown) for place, text in source() for each in check(place, text, known)]
    print(*findings, sep="\n", end="\n" if findings else "")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
