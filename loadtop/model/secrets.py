"""Blanks passwords, cookies, tokens and user info out of command lines and URLs, before anything is written down."""

import re
from collections.abc import Sequence

BLANK = "***"

_FLAGS = frozenset("kilrdSqwIVh")
_SECRETS = frozenset("APC")
_VALUES = frozenset("ncstpTmXgexyzvbBZfE")
"""ab's letters: those without a value, those whose value is a secret (authentication, proxy authentication, cookie),
and the others with a value, which is the rest of the word or the next one."""

_USERS = frozenset("uU")
"""A file to ab and loadtop (-u), ``user:password`` to curl."""

_USER_OPTIONS = frozenset({"--user", "--proxy-user"})
_HEADER_OPTIONS = frozenset({"--header", "--headers"})
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
    expected = ""
    for word in argv:
        cleaned, following = _option(word) if word.startswith("-") and len(word) > 1 else (_text(word), "")
        if expected == "secret":
            cleaned = BLANK
        elif expected == "header":
            cleaned = _header(cleaned if word.startswith("-") else word)
        elif expected == "user":
            cleaned = _user(cleaned if word.startswith("-") else word)
        out.append(cleaned)
        expected = following
    return out


def url_without_secrets(url: str) -> str:
    """The text with user info and secret query parameters of the URLs in it blanked. ``ssh://user@`` stays."""
    return _text(url)


def _option(word: str) -> tuple[str, str]:
    """The cleaned word, and what the next one is: ``secret``, ``header``, ``user`` or nothing special."""
    if word.startswith("--"):
        return _long_option(word)
    for position, letter in enumerate(word[1:], start=1):
        head, tail = word[: position + 1], word[position + 1 :]
        if letter in _FLAGS:
            continue
        if letter in _SECRETS:
            return (head + BLANK, "") if tail else (word, "secret")
        if letter == "H":
            return (head + _header(tail), "") if tail else (word, "header")
        if letter in _USERS:
            return (head + _user(tail), "") if tail else (word, "user")
        return (head + _text(tail) if letter in _VALUES else _text(word)), ""
    return word, ""


def _long_option(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if name in _HEADER_OPTIONS:
        return (f"{name}={_header(value)}", "") if equals else (word, "header")
    if name in _USER_OPTIONS:
        return (f"{name}={_user(value)}", "") if equals else (word, "user")
    if _SECRET_NAME.search(name):
        return (f"{name}={BLANK}", "") if equals else (word, "secret")
    return (f"{name}={_text(value)}" if equals else _text(word)), ""


def _user(text: str) -> str:
    return BLANK if ":" in text else _text(text)


def _header(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{name}: {BLANK}" if colon and _SECRET_NAME.search(name) else _text(line)


def _text(text: str) -> str:
    """Blank user info and secret assignments anywhere in a word."""
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
