"""What the docs say is there: every link, every option, every `make` verb."""

import contextlib
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from loadtop.cli import main
from loadtop.cli.options.table import COMMANDS
from loadtop.servers.registry import VERDICT_NAMES

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


def test_links_lead_somewhere() -> None:
    broken: list[tuple[str, str]] = []
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?://)([^)\s]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = (ROOT / page).parent / name if name else ROOT / page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((page, link))
    assert broken == []


def test_commands_have_the_options_that_are_shown() -> None:
    unknown: list[tuple[str, str, set[str]]] = []
    lines = [(page, line) for page in PAGES for line in code(page) if line.startswith("loadtop ")]
    for page, line in lines:
        words = line.partition(" #")[0].split(" -- ")[0].split("'")[::2]  # what is quoted is no option
        first = words[0].split()[1] if len(words[0].split()) > 1 else ""
        known = help_of(first if first in COMMANDS else "run") + "--lang --theme --ascii --help"
        missing = set(OPTION.findall(" ".join(words))) - set(OPTION.findall(known))
        if missing:
            unknown.append((page, line, missing))
    assert unknown == []


def test_options_and_verbs_of_make_that_are_mentioned_exist() -> None:
    options = set(OPTION.findall(" ".join(map(help_of, COMMANDS)) + "--lang --theme --ascii"))
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    spans = [(page, span) for page in PAGES for span in code(page)]
    assert [each for each in spans if each[1].startswith("--") and OPTION.findall(each[1])[0] not in options] == []
    assert [each for each in spans if (found := re.match(r"make ([a-z-]+)", each[1])) and found[1] not in verbs] == []


def test_the_contents_and_the_site_list_every_page() -> None:
    pages = {page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")} - {"README.md"}
    contents = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    assert {page for page in pages if f"]({page})" not in contents} == set()
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert {page for page in pages if f": docs/{page}\n" not in site} == set()


def test_the_readme_is_short_and_every_verdict_has_its_advice() -> None:
    readme, verdicts = (ROOT / "README.md").read_text("utf-8"), (ROOT / "docs/verdicts.md").read_text("utf-8")
    assert len(readme.splitlines()) < 120
    assert [name for name in VERDICT_NAMES if f"`{name}`" not in readme] == []
    assert [
        name for name in VERDICT_NAMES if not re.search(rf"^\|.*`{name}`.*\|.*\|.+\|$", verdicts, re.MULTILINE)
    ] == []
