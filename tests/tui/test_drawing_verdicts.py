"""Names and letters of verdicts."""

from tui.drawing.verdicts import HEADLINES, LETTERS


def test_every_verdict_has_words_and_a_letter_of_its_own() -> None:
    assert set(LETTERS) == set(HEADLINES)
    assert len(set(LETTERS.values())) == len(LETTERS)
