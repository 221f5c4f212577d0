"""The language of this process, and its catalogue of translations (gettext).

A catalogue is ``locale/<language>/LC_MESSAGES/loadtop.po``. A wheel holds it compiled (.mo) and needs no more than
Python; in a checkout it is compiled by Babel when the .po file is newer.
"""

import contextlib
import gettext
import importlib.util
import io
import os
from collections.abc import Mapping
from pathlib import Path

LANGUAGES = ("en", "ja")
_LOCALE = Path(__file__).parent / "locale"


class _Current:
    language = "en"
    catalogue = gettext.NullTranslations()


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language of the locale (the first of LC_ALL, LC_MESSAGES, LANG that is set), or English."""
    locale = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    code = locale.partition("_")[0].partition(".")[0].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    """Return the language that is set."""
    return _Current.language


def set_language(code: str) -> None:
    """Set one of :data:`LANGUAGES` for everything that is rendered from now on."""
    _Current.catalogue = gettext.NullTranslations() if code == "en" else _catalogue(_LOCALE / code / "LC_MESSAGES")
    _Current.language = code


def translate(template: str, many: str = "", n: int = 1) -> str:
    """Return the template in the language that is set, or in English if it has no translation."""
    if many:
        return _Current.catalogue.ngettext(template, many, n)
    return _Current.catalogue.gettext(template) if template else ""  # gettext has its header under the empty text


def _catalogue(folder: Path) -> gettext.NullTranslations:
    source, compiled = folder / "loadtop.po", folder / "loadtop.mo"
    stale = source.exists() and not (compiled.exists() and compiled.stat().st_mtime_ns >= source.stat().st_mtime_ns)
    if stale and importlib.util.find_spec("babel"):
        return gettext.GNUTranslations(io.BytesIO(_compile(source, compiled)))
    with compiled.open("rb") as file:
        return gettext.GNUTranslations(file)


def _compile(source: Path, target: Path) -> bytes:
    """Compile a catalogue of a checkout, and keep the result for the next start where the directory can be written."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file))
    written = target.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        written.write_bytes(compiled.getvalue())
        written.replace(target)  # at once: other processes may start now
    return compiled.getvalue()
