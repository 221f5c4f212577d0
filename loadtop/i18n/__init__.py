"""Texts for people: made where a fact is known (:class:`Message`), put into the reader's language where they are shown.

English stands in the code; each other language has a catalogue. What has no translation is shown in English.
``tr`` is for texts that are shown at once. JSON and recordings are English.
"""

from loadtop.i18n.language import LANGUAGES, language, language_of, set_language
from loadtop.i18n.message import (
    Message,
    MessageError,
    Text,
    Translatable,
    TranslatableEnum,
    english,
    grouped,
    listed,
    plural,
    rendered,
    sentences,
    tr,
    verbatim,
)
from loadtop.i18n.numbers import clock, duration
from loadtop.i18n.terminal import pad, plain, width

__all__ = [
    "LANGUAGES",
    "Message",
    "MessageError",
    "Text",
    "Translatable",
    "TranslatableEnum",
    "clock",
    "duration",
    "english",
    "grouped",
    "language",
    "language_of",
    "listed",
    "pad",
    "plain",
    "plural",
    "rendered",
    "sentences",
    "set_language",
    "tr",
    "verbatim",
    "width",
]
