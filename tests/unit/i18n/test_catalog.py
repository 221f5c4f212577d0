"""The catalogue of Japanese: every template of the code has a translation with the same parameters."""

import re
from pathlib import Path

from loadtop.servers.registry import EVIDENCE_TITLES
from scripts.catalog import LOCALE, has_words, places, read, templates

ROOT = Path(__file__).parents[3]
ENGLISH_WORDS = re.compile(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}")
COMMANDS = ("kubectl get pods", "pip install locust", "systemctl reload ssh", "Zwiers and von Storch")


def test_every_template_has_its_japanese_with_the_same_places() -> None:
    japanese = {
        entry.id: entry.string or "" for entry in read(LOCALE / "ja" / "LC_MESSAGES" / "loadtop.po") if entry.id
    }
    found = {template for template in templates() if has_words(template)}
    assert sorted(str(template) for template in found if not "".join(japanese.get(template, ""))) == []
    different = {english: places(english) ^ places(known) for english, known in japanese.items() if known}
    assert {english: odd for english, odd in different.items() if odd} == {}
    texts = [text for known in japanese.values() for text in ([known] if isinstance(known, str) else known)]
    english = [text for text in texts if ENGLISH_WORDS.search(text)]
    assert [text for text in english if not any(words in text for words in COMMANDS)] == [], "left in English"


def test_every_metric_of_a_verdict_has_its_words() -> None:
    """What is named as evidence in the diagnosis, its unit at the end of the name."""
    named = re.compile(r'"([a-z]+\.[a-z0-9_]+_(?:pct|ms|s))"')
    files = [file for room in ("diagnosis", "servers") for file in (ROOT / "loadtop" / room).rglob("*.py")]
    found = {name for file in files for name in named.findall(file.read_text())}
    assert len(found) > 20
    assert sorted(found - EVIDENCE_TITLES.keys()) == []
