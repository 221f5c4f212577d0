"""Texts for people: made where a fact is known (:class:`Message`), put into the reader's language where they are shown.

English stands in the code; each other language has a catalogue. What has no translation is shown in English.
``tr`` is for texts that are shown at once. JSON and recordings are English.
"""

from loadtop.i18n.message import (
    Message,
    MessageError,
    listed,
    plural,
    rendered,
    sentences,
    tr,
    translatable,
    verbatim,
)
from loadtop.i18n.plain import plain
from loadtop.i18n.speech import LANGUAGES, itemised, language, language_of, speak, translated
from loadtop.i18n.table import pad, width

__all__ = [
    "LANGUAGES",
    "Message",
    "MessageError",
    "itemised",
    "language",
    "language_of",
    "listed",
    "pad",
    "plain",
    "plural",
    "rendered",
    "sentences",
    "speak",
    "tr",
    "translatable",
    "translated",
    "verbatim",
    "width",
]
