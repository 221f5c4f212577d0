"""The language: from the locale or --lang; catalogues compiled when needed; English for what has no translation."""

import os
import shutil
from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.i18n import (
    Message,
    _catalogue,  # pyright: ignore[reportPrivateUsage]
    language_of,
    rendered,
    tr,
)
from scripts.catalog import LOCALE


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


def test_a_text_without_translation_stays_english(japanese: None) -> None:  # noqa: ARG001 (the language)
    assert tr("a text that nobody wrote") == "a text that nobody wrote"
    assert rendered(Message("colourless green {n} sleep", n=3)) == "colourless green 3 sleep"
    assert tr("") == ""


def test_english_is_left_alone() -> None:
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


@pytest.mark.parametrize("words", [["--lang", "xx", "sessions"], ["--lang=xx", "sessions"], ["sessions", "--lang"]])
def test_a_language_that_is_not_spoken(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "one of en, ja" in capsys.readouterr().err
