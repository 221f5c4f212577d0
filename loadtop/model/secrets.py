"""Blanks passwords, cookies, tokens and user info out of command lines and URLs, before anything is written down."""

import re
from collections.abc import Sequence

BLANK = "***"

_FLAGS = "kilrdSqwIVh"  # ab's letters without a value; that of any other is the rest of the word, or the next

_LETTERS = {
    **dict.fromkeys("APC", "secret"),  # authentication, proxy authentication, cookie
    **dict.fromkeys("uU", "user"),  # a file to ab and loadtop (-u), user:password to curl
    **dict.fromkeys("ncstpTmXgexyzvbBZfE", "text"),
    "H": "header",
}
_OPTIONS = {"--header": "header", "--headers": "header", "--user": "user", "--proxy-user": "user"}
_SECRET_NAME = re.compile(r"auth|cookie|pass|pwd|secret|token|credential|session|signature|api[-_]?key", re.IGNORECASE)
"""Options, headers and query parameters with one of these in their name have their value blanked."""

_USER_INFO = re.compile(r"(?P<scheme>(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)(?P<user>[^/?#\s]*)@")
_BROKEN_USER_INFO = re.compile(r"(?P<scheme>(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)[^/?#\s@:]*:(?!\d*(?:[/?#\s]|$))\S*@")
"""An unescaped slash in a password makes the URL wrong, and the password no less secret."""

_BARE_USER_INFO = re.compile(r"^(?!\S*//)[^/\s@:]*:\S*@(?=[^\s@]+$)")
_ASSIGNMENT = re.compile(r"(?P<name>[\w.-]+)=(?P<value>[^&#\s]+)")
_JSON_MEMBER = re.compile(r"(?P<name>\"[^\"\\]+\"\s*:\s*)\"(?:[^\"\\]|\\.)*\"")


def without_secrets(argv: Sequence[str]) -> list[str]:
    """The command line with every value that may be a secret replaced by ``***``. What is no secret stays as it is.

    Understood are the spellings of loadtop, ab, curl and wrk: ``-Au:p``, ``-A u:p``, ``-kA u:p``, ``--auth=u:p``,
    ``--auth u:p``, ``-H 'Cookie: a=b'``, ``http://u:p@host/``, ``?token=x``. In doubt a value is blanked.
    """
    out: list[str] = []
    expected = "text"
    for word in argv:
        is_option = word.startswith("-") and len(word) > 1
        cleaned, following = _option(word) if is_option else (word, "text")
        out.append(_clean(expected, cleaned))
        expected = following
    return out


def _option(word: str) -> tuple[str, str]:
    """The cleaned word, and what the next one is: see :func:`_clean`."""
    if word.startswith("--"):
        name, given, value = word.partition("=")
        head = name + given
        kind = _OPTIONS.get(name) or ("secret" if _SECRET_NAME.search(name) else "text")
    else:
        place = len(word) - len(word[1:].lstrip(_FLAGS))
        head, value = word[: place + 1], word[place + 1 :]
        given = value
        kind = _LETTERS.get(word[place : place + 1], "")
    if not kind:
        return url_without_secrets(word), "text"
    return (head + _clean(kind, value), "text") if given else (word, kind)


def _clean(kind: str, value: str) -> str:
    """A value without secrets; ``kind`` is ``secret``, ``header``, ``user`` (with a password) or ``text``."""
    if kind == "secret" or (kind == "user" and ":" in value):
        return BLANK
    return _header(value) if kind == "header" else url_without_secrets(value)


def _header(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{name}: {BLANK}" if colon and _SECRET_NAME.search(name) else url_without_secrets(line)


def url_without_secrets(text: str) -> str:
    """The text with user info and secret query parameters of the URLs in it blanked. ``ssh://user@`` stays."""
    if "@" in text:
        text = _BROKEN_USER_INFO.sub(rf"\g<scheme>{BLANK}@", text)
        text = _USER_INFO.sub(_user_info, text)
        text = _BARE_USER_INFO.sub(f"{BLANK}@", text)
    if "=" in text:
        text = _ASSIGNMENT.sub(_assignment, text)
    if '":' in text or '" :' in text:
        text = _JSON_MEMBER.sub(_member, text)
    return text


def _user_info(match: re.Match[str]) -> str:
    """A user's name alone is no secret where it says whose account on a machine is used."""
    if match["scheme"].lower() == "ssh://" and ":" not in match["user"]:
        return match[0]
    return f"{match['scheme']}{BLANK}@"


def _assignment(match: re.Match[str]) -> str:
    return f"{match['name']}={BLANK}" if _SECRET_NAME.search(match["name"]) else match[0]


def _member(match: re.Match[str]) -> str:
    return f'{match["name"]}"{BLANK}"' if _SECRET_NAME.search(match["name"]) else match[0]
