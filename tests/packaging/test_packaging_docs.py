"""What the docs say is there: every link, every option, every `make` verb."""

import contextlib
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.cli.options.table import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][a-z-]*")


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def code(page: str) -> Iterator[str]:
    """Lines of code blocks, and code within sentences."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


@cache
def help_of(verb: str) -> str:
    """What ``--help`` of a verb prints; with that of its own verbs, where it has some."""
    calls = [[verb], *([verb, other] for other in ("rename", "prune") if verb == "sessions")]
    out = io.StringIO()
    for words in calls:
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main([*words, "--help"])
    return out.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES)
def test_commands_have_the_options_that_are_shown(page: str) -> None:
    everywhere = "--lang --theme --ascii --help"
    for line in code(page):
        if not line.startswith("loadtop "):
            continue
        words = line.partition(" #")[0].split(" -- ")[0].split("'")[::2]  # what is quoted is no option
        first = words[0].split()[1] if len(words[0].split()) > 1 else ""
        verb = first if first in COMMANDS else "run"
        known = set(OPTION.findall(help_of(verb) + everywhere))
        given = set(OPTION.findall(" ".join(words)))
        assert given <= known, (line, given - known)


@pytest.mark.parametrize("page", PAGES)
def test_options_that_are_mentioned_exist(page: str) -> None:
    known = set(OPTION.findall(" ".join(map(help_of, COMMANDS)) + "--lang --theme --ascii"))
    for span in code(page):
        if span.startswith("--"):
            name = OPTION.findall(span)[0]
            assert name in known, span


@pytest.mark.parametrize("page", PAGES)
def test_verbs_of_make_exist(page: str) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for span in code(page):
        found = re.match(r"make ([a-z-]+)", span)
        assert found is None or found[1] in known, span
