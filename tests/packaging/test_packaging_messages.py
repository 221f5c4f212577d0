"""The page of all messages is the one that the code generates, and its English keeps the rules of ``make prose``."""

import pytest

from scripts.messages import PAGE, page
from scripts.prose import Rule, check, documents, rules, shown


@pytest.fixture(scope="module")
def known() -> tuple[Rule, ...]:
    return rules()


def test_the_page_of_messages_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make messages`"


def test_documents_help_and_messages_keep_the_rules(known: tuple[Rule, ...]) -> None:
    texts = [*documents(), *shown()]
    assert len(texts) > 1000
    assert [str(each) for place, text in texts for each in check(place, text, known)] == []


@pytest.mark.parametrize(
    "text",
    [
        "A load that can be begun again.",
        "The speed is told by --link.",
        "An environment of its own.",
        "As many processes\nas it takes; nobody waits.",
        "requests want a child",
        "What is missing, is named.",
        "'x' is no number",
    ],
)
def test_a_pattern_is_found(known: tuple[Rule, ...], text: str) -> None:
    assert list(check("page", text, known))


@pytest.mark.parametrize("text", ["There is no limit.", "Requests wait for a child."])
def test_plain_sentences_pass(known: tuple[Rule, ...], text: str) -> None:
    assert list(check("page", text, known)) == []
