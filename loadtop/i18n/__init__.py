"""Texts for people: made where a fact is known (:class:`Message`), put into the reader's language where they are shown.

English stands in the code; each other language has a catalogue. What has no translation is shown in English.
``tr`` is for texts that are shown at once. JSON and recordings are English.
"""

from loadtop.i18n.language import LANGUAGES as LANGUAGES
from loadtop.i18n.language import language as language
from loadtop.i18n.language import language_of as language_of
from loadtop.i18n.language import set_language as set_language
from loadtop.i18n.message import Message as Message
from loadtop.i18n.message import MessageError as MessageError
from loadtop.i18n.message import Text as Text
from loadtop.i18n.message import Translatable as Translatable
from loadtop.i18n.message import TranslatableEnum as TranslatableEnum
from loadtop.i18n.message import english as english
from loadtop.i18n.message import grouped as grouped
from loadtop.i18n.message import listed as listed
from loadtop.i18n.message import plural as plural
from loadtop.i18n.message import rendered as rendered
from loadtop.i18n.message import sentences as sentences
from loadtop.i18n.message import tr as tr
from loadtop.i18n.message import verbatim as verbatim
from loadtop.i18n.numbers import clock as clock
from loadtop.i18n.numbers import duration as duration
from loadtop.i18n.terminal import pad as pad
from loadtop.i18n.terminal import plain as plain
from loadtop.i18n.terminal import width as width
