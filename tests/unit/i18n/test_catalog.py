"""The catalogue of Japanese: every template of the code has a translation with the same parameters."""

import re
from pathlib import Path

from loadtop.servers.registry import EVIDENCE_TITLES
from scripts.catalog import LOCALE, has_words, places, read, templates

ROOT = Path(__file__).parents[3]
JAPANESE = {entry.id: entry.string or "" for entry in read(LOCALE / "ja" / "LC_MESSAGES" / "loadtop.po") if entry.id}
ENGLISH_WORDS = re.compile(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}")
COMMANDS = ("pip install locust", "systemctl reload ssh", "Zwiers and von Storch")


def test_every_template_has_its_japanese() -> None:
    found = {template for template in templates() if has_words(template)}
    assert sorted(str(template) for template in found if not "".join(JAPANESE.get(template, ""))) == []


def test_a_translation_has_the_places_of_its_template() -> None:
    different = {english: places(english) ^ places(japanese) for english, japanese in JAPANESE.items() if japanese}
    assert {english: found for english, found in different.items() if found} == {}


def test_a_translation_is_not_left_in_english() -> None:
    found = [text for japanese in JAPANESE.values() for text in ([japanese] if isinstance(japanese, str) else japanese)]
    assert [text for text in found if ENGLISH_WORDS.search(text) and not any(words in text for words in COMMANDS)] == []


def test_every_metric_of_a_verdict_has_its_words() -> None:
    """What is named as evidence in the diagnosis, its unit at the end of the name."""
    named = re.compile(r'"([a-z]+\.[a-z0-9_]+_(?:pct|ms|s))"')
    files = [file for room in ("diagnosis", "servers") for file in (ROOT / "loadtop" / room).rglob("*.py")]
    found = {name for file in files for name in named.findall(file.read_text())}
    assert len(found) > 20
    assert sorted(found - EVIDENCE_TITLES.keys()) == []
