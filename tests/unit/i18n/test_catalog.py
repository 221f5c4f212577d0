"""Languages: everything shown has its Japanese, with the same figures in it, and what has not stays English."""

import ast
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.i18n import itemised, language_of, pad, tr, translated, width
from loadtop.i18n.language import _catalogue
from loadtop.reports.text import wrapped
from loadtop.servers.registry import EVIDENCE_TITLES
from scripts.catalog import LOCALE, has_words, places, read, templates

ROOT = Path(__file__).parents[3]
JAPANESE = {entry.id: entry.string or "" for entry in read(LOCALE / "ja" / "LC_MESSAGES" / "loadtop.po") if entry.id}
UNUSED = {"{setting}", "{verb}", "{s}"}
"""Places that Japanese can do without."""
ENOUGH = 0.7
"""Share of the advice that must have its translation: a new sentence may be shown in English until it has one."""

FULL_POOL = (
    "All 40 worker slots are taken while CPU is free: raise MaxRequestWorkers "
    "to 61 or more (60 requests are in flight, "
    "one is the status page's). Memory allows about 120 (9.1 MB each by PSS, 900 MB to be used)."
)


def trees(*folders: str) -> Iterator[ast.AST]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield ast.parse(path.read_text(encoding="utf-8"))


def sentences() -> set[str]:
    """What the diagnosis says in words, with 7 in place of every figure."""
    found: set[str] = set()
    for tree in trees("loadtop/diagnosis"):
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        said |= {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Evidence"
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                said |= {id(part) for part in node.values}
        for node in ast.walk(tree):
            if id(node) in said:
                continue
            text = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
            if text.count(" ") >= 3 and text.rstrip().endswith((".", "7", ")")):
                found.add(text)
    return found


def test_every_template_has_its_japanese() -> None:
    found = {template for template in templates() if has_words(template)}
    assert sorted(str(template) for template in found if not "".join(JAPANESE.get(template, ""))) == []


def test_a_translation_has_the_places_of_its_template() -> None:
    different = {english: places(english) ^ places(japanese) for english, japanese in JAPANESE.items() if japanese}
    assert {english: found for english, found in different.items() if found - UNUSED} == {}


def test_a_catalogue_in_a_checkout_is_compiled_when_it_is_newer(tmp_path: Path) -> None:
    source = tmp_path / "loadtop.po"
    shutil.copy(LOCALE / "ja" / "LC_MESSAGES" / "loadtop.po", source)
    assert _catalogue(tmp_path).gettext("not permitted") == "権限がありません"
    os.utime(source, (0, 0))
    source.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8"\n\nmsgid "load"\nmsgstr "ロード"\n')
    assert _catalogue(tmp_path).gettext("load") == "ロード"
    source.unlink()  # as in a wheel
    assert _catalogue(tmp_path).gettext("load") == "ロード"
    assert [path.name for path in tmp_path.iterdir()] == ["loadtop.mo"]


def test_every_metric_of_a_verdict_has_its_words() -> None:
    """What is named as evidence in the diagnosis, its unit at the end of the name."""
    named = re.compile(r'"([a-z]+\.[a-z0-9_]+_(?:pct|ms|s))"')
    files = [file for room in ("diagnosis", "servers") for file in (ROOT / "loadtop" / room).rglob("*.py")]
    found = {name for file in files for name in named.findall(file.read_text())}
    assert len(found) > 20
    assert sorted(found - EVIDENCE_TITLES.keys()) == []


def test_the_advice_has_its_japanese(japanese: None) -> None:  # noqa: ARG001 (the language)
    lacking = [text for text in sorted(sentences()) if translated(text) == text]
    print("not translated yet:", *lacking, sep="\n  ")
    assert len(lacking) <= (1 - ENOUGH) * len(sentences()), lacking


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("There is headroom: raise the concurrency (now 20) to find the limit.", "同時接続数"),
        (FULL_POOL, "ワーカー 40 個がすべて使用中です"),
        ("Lower MaxRequestWorkers from 40 until nothing is swapped, or add memory.", "MaxRequestWorkers を 40 から"),
        ("no connection since 12:00: connection refused: nothing listens there; next try in 4 s", "待ち受けているもの"),
    ],
)
def test_advice_keeps_its_figures(english: str, said: str, japanese: None) -> None:  # noqa: ARG001 (the language)
    found = translated(english)
    assert said in found
    assert set(re.findall(r"\d+(?:\.\d+)?", english)) <= set(re.findall(r"\d+(?:\.\d+)?", found))
    assert re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", found) is None


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("2 cores", "2 コア"),
        ("overflows, retransmits; 12 listening ports", "待ち行列の溢れ, 再送; 待ち受けポート 12"),
        (
            "pool www (/run/a b.sock): pm.max_children unknown, queue 3",
            "プール www (/run/a b.sock): pm.max_children 不明, 待ち 3",
        ),
        ("vda, my ports of call", "vda, my ports of call"),
        ("lo, eth0 (1000 Mbit/s)", "lo, eth0 (1000 Mbit/s)"),
    ],
)
def test_items_are_known_whole_or_not_at_all(english: str, said: str, japanese: None) -> None:  # noqa: ARG001 (the language)
    assert itemised(english) == said


def test_what_is_not_known_stays_english(japanese: None) -> None:  # noqa: ARG001 (the language)
    assert translated("colourless green ideas sleep") == "colourless green ideas sleep"
    assert tr("a text that nobody wrote") == "a text that nobody wrote"


def test_english_is_left_alone() -> None:
    assert translated("There is headroom: more load would be served.").startswith("There is")
    assert tr("{s} s", s=3) == "3 s"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ja_JP"}, "ja"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses(environment: dict[str, str], found: str) -> None:
    assert language_of(environment) == found


def test_columns_count_wide_characters() -> None:
    assert width("限界 a") == 6
    assert pad("限界", 6) == "限界  "
    assert pad("限界", 6, right=True) == "  限界"
    assert width("e\u0301") == 1


@pytest.mark.parametrize("cells", range(8, 30))
def test_no_line_ends_with_an_opening_bracket_or_begins_with_a_stop(cells: int) -> None:
    lines = wrapped("接続できません\uff08権限がないか、待ち受けなし\uff09。port 80\uff08http\uff09", "", cells)
    assert all(width(line) <= cells + 4 for line in lines)
    assert not [line for line in lines if line.endswith("\uff08") or line[0] in "、。\uff09"]


@pytest.mark.parametrize("words", [["--lang", "xx", "sessions"], ["--lang=xx", "sessions"], ["sessions", "--lang"]])
def test_a_language_that_is_not_spoken(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "one of en, ja" in capsys.readouterr().err
