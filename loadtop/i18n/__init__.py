"""The words a person reads: made safe for a terminal, in the language of that person.

English stands in the code; the other languages have a catalogue each, by the English text. What has no translation is
shown in English. ``tr`` is for texts of this program where they are shown; ``translated`` for those that were made
elsewhere (advice, reasons, troubles) and may have been recorded: recordings and JSON keep English.
"""

from loadtop.i18n.plain import plain
from loadtop.i18n.speech import LANGUAGES, itemised, language, language_of, speak, tr, translated
from loadtop.i18n.table import pad, width

__all__ = ["LANGUAGES", "itemised", "language", "language_of", "pad", "plain", "speak", "tr", "translated", "width"]
