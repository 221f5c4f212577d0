"""Blanks passwords, cookies, tokens and user info out of texts before they are written or shown.

Command lines go through :func:`without_secrets`, everything else through :func:`blanked`: records, summaries, single
texts. In doubt a value is blanked. The time taken is proportional to the length of a text, whatever is in it.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import is_
from typing import Any, cast, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from loadtop.i18n import Message
from loadtop.i18n.outside import MAX_TEXT
from loadtop.model.machine import Disk, Network, Process
from loadtop.model.places import EXEC

BLANK = "***"

NAMED_BY_KERNEL = (Disk, Network, Process)  # their only text is a short name; a frame has hundreds of them

_FLAGS = "kilrdSqwIVh"  # ab's letters without a value; that of any other is the rest of the word, or the next

_LETTERS = {
    **dict.fromkeys("APC", "secret"),  # authentication, proxy authentication, cookie
    **dict.fromkeys("uU", "user"),  # a file to ab and loadtop (-u), user:password to curl
    **dict.fromkeys("ncstpTmXgexyzvbBZfE", "text"),
    "H": "header",
}
_OPTIONS = {"--header": "header", "--headers": "header", "--user": "user", "--proxy-user": "user"}

_LONG_OPTION = re.compile(r"--[\w-]{1,64}")

_SECRET_NAME = re.compile(
    r"(?i:auth|cookie|credential|cred(?![a-z])|pass|pwd|secret|session|sess(?:id)?(?![a-z])|token|ticket|signature|jwt"
    r"|bearer|csrf|xsrf|saml|(?:api|access|account|private|shared|subscription|functions?|license|encryption)[-_.]?key)"
    r"|(?<![A-Za-z])(?i:keys?|sig|sign|code|sid|pw|pin|otp|totp|nonce|hmac|sso|psk)(?![A-Za-z])"
    r"|(?<=[a-z])(?:Key|Sig|Code|Sid|Pw|Pin|Otp)(?![a-z])"
)
"""Options, headers, cookies, query parameters and members of JSON with one of these in their name have their value
blanked: as a part of any word, as a word of its own, or as a word of ``camelCase``."""

_HARMLESS_HEADER = re.compile(
    r"(?i)(?:accept|content|if|x-forwarded)-[a-z-]{1,32}|accept|cache-control|connection|dnt|expect|from|host|keep-alive"
    r"|max-forwards|origin|pragma|range|referer|te|trailer|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent"
    r"|via|x-request-id|x-requested-with"
)
"""Headers whose value may be written down. That of any other may be a key that only its server knows by that name."""

_COMMAND = re.compile(rf"(?:[^=\s]{{1,64}}=)?{EXEC}")
_WORD = re.compile(rf"\S{{1,{MAX_TEXT}}}")
_USER = re.compile(rf"//([^/?#@:]{{0,{MAX_TEXT}}})")
_PORT = re.compile(r":\d{0,20}(?:[/?#]|$)")
_AUTHORITY_END = re.compile(r"[/?#]")
_ASSIGNED = re.compile(r"(?P<name>[\w.%$\[\]~-]{1,64})=")
_VALUE = re.compile(rf"\"[^\"]{{0,{MAX_TEXT}}}\"?|'[^']{{0,{MAX_TEXT}}}'?|[^&#\s]{{1,{MAX_TEXT}}}")
_MEMBER = re.compile(r"([\"'])(?P<name>[^\"'\\]{1,256})\1\s{0,64}:\s{0,64}")
_MEMBER_VALUE = re.compile(
    rf"\"(?:[^\"\\]|\\.?){{0,{MAX_TEXT}}}+\"?|'(?:[^'\\]|\\.?){{0,{MAX_TEXT}}}+'?|\[[^\]]{{0,{MAX_TEXT}}}\]?"
    r"|[\w.+-]{1,64}",
    re.DOTALL,
)
_HEADER_LINE = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,32}(?:key|token|jwt|secret|auth)[\w-]{0,32})"
    rf"[ \t]{{0,64}}:[^\r\n]{{1,{MAX_TEXT}}}"
)
_CREDENTIALS = re.compile(
    r"(?i)\b(bearer|apikey|(?:basic|digest|negotiate)(?=[ \t]{1,64}[\w.~+/-]{0,256}[\d=]))"
    rf"[ \t]{{1,64}}[\w.~+/=-]{{6,{MAX_TEXT}}}"
)
_SESSION_FILE = re.compile(r"(?<=/sess_)[\w,-]{1,256}", re.ASCII)
"""The id of a PHP session, in the name of its file. Whoever knows it can take over the session."""

_JWT = re.compile(rf"\beyJ[\w-]{{8,{MAX_TEXT}}}(?:\.[\w-]{{0,{MAX_TEXT}}}){{0,4}}")


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


def place_without_secrets(place: str) -> str:
    """The place of a host, ``exec:COMMAND`` or ``NAME=exec:COMMAND``, without the secrets in its command."""
    found = _COMMAND.match(place)
    if found is None:
        return url_without_secrets(place)
    try:
        words = shlex.split(place[found.end() :])
    except ValueError:
        return found[0] + BLANK
    return found[0] + " ".join(word if BLANK in word else shlex.quote(word) for word in without_secrets(words))


def _option(word: str) -> tuple[str, str]:
    """The cleaned word, and what the next one is: see :func:`_clean`."""
    if word.startswith("--"):
        name, given, value = word.partition("=")
        if not _LONG_OPTION.fullmatch(name):
            return url_without_secrets(word), "text"
        head = name + given
        kind = _OPTIONS.get(name) or ("secret" if _is_secret(name) else "text")
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
    return header_without_secrets(value) if kind == "header" else place_without_secrets(value)


def header_without_secrets(line: str) -> str:
    """A header of a request: its value is blanked unless its name is known to be harmless."""
    name, colon, value = line.partition(":")
    if not colon or _HARMLESS_HEADER.fullmatch(name.strip()):
        return url_without_secrets(line)
    return f"{name}: {BLANK}" if value.strip() else line


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def blanked(value: Any) -> Any:
    """Return records or plain data with the secrets in their texts blanked; the same object if there are none.

    Keys are left as they are, and so are :data:`NAMED_BY_KERNEL`.
    """
    if isinstance(value, str):
        return url_without_secrets(value)
    if isinstance(value, Message):
        given = dict(value.params)
        params = blanked(given)
        return value if params is given else Message(value.template, value.many, **params)
    if isinstance(value, (tuple, list)):
        before = cast("Sequence[Any]", value)
        items = tuple(map(blanked, before))
        return before if all(map(is_, items, before)) else items
    if isinstance(value, Struct):
        texts = [(name, getattr(value, name)) for name in _texts(value.__class__)]
        clean = {name: after for name, text in texts if (after := blanked(text)) is not text}
        return replace(value, **clean) if clean else value
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        members = {key: blanked(each) for key, each in mapping.items()}
        return mapping if all(members[key] is each for key, each in mapping.items()) else members
    return value


@cache
def _texts(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record that may hold texts."""
    hints = get_type_hints(record)
    return tuple(name for name in record.__struct_fields__ if _may_hold_text(hints[name]))


def _may_hold_text(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint not in NAMED_BY_KERNEL and bool(_texts(hint))
    return hint in (str, Message) or any(map(_may_hold_text, get_args(hint)))


def url_without_secrets(text: str) -> str:
    """The text with what may be secret in its URLs, headers, assignments and JSON blanked. ``ssh://user@`` stays.

    Of a text that may have one, what is beyond :data:`loadtop.i18n.outside.MAX_TEXT` characters is cut off.
    """
    if not any(sign in text for sign in ("@", ":", "=", " ", "eyJ", "/sess_")):
        return text
    text = text[:MAX_TEXT]
    if "@" in text:
        text = _without_user_info(text)
    if ":" in text:
        text = _HEADER_LINE.sub(rf"\1: {BLANK}", text)
        if '"' in text or "'" in text:
            text = "".join(_without_values(text, _MEMBER, _MEMBER_VALUE, f'"{BLANK}"'))
    if "=" in text:
        text = "".join(_without_values(text, _ASSIGNED, _VALUE, BLANK))
    if " " in text:
        text = _CREDENTIALS.sub(rf"\1 {BLANK}", text)
    if "eyJ" in text:
        text = _JWT.sub(BLANK, text)
    if "/sess_" in text:
        text = _SESSION_FILE.sub(BLANK, text)
    return text


def _without_user_info(text: str) -> str:
    if "//" not in text and _WORD.fullmatch(text):
        user, _, place = text.rpartition("@")  # user:password@host of a proxy
        name, colon, _ = user.partition(":")
        return f"{BLANK}@{place}" if colon and place and "/" not in name and "@" not in name else text
    return _WORD.sub(_word_without_user_info, text)


def _word_without_user_info(found: re.Match[str]) -> str:
    """A word with the user info of its URLs blanked. An unescaped slash in a password makes a URL wrong, and the
    password no less secret: what follows a colon that begins no port is blanked up to the last ``@``."""
    word = found[0]
    last = word.rfind("@")
    if last < 0:
        return word
    pieces: list[str] = []
    begin = 0
    for user in _USER.finditer(word):
        if not begin <= user.start() or user.end() > last:
            continue
        end = word.rfind("@", user.end(), _authority_end(word, user.end()))
        if word[user.end()] == ":" and _PORT.match(word, user.end()) is None:
            end = last
        elif end < 0 or (word[max(0, user.start() - 4) : user.start()].lower() == "ssh:" and ":" not in user[1]):
            continue  # a user's name alone is no secret where it says whose account on a machine is used
        pieces += word[begin : user.start()], f"//{BLANK}"
        begin = end
    return "".join(pieces) + word[begin:]


def _authority_end(word: str, begin: int) -> int:
    found = _AUTHORITY_END.search(word, begin)
    return len(word) if found is None else found.start()


def _without_values(text: str, named: re.Pattern[str], value: re.Pattern[str], blank: str) -> Iterator[str]:
    """The pieces of the text with ``blank`` for each ``value`` that follows a secret name."""
    begin = 0
    for found in named.finditer(text):
        if found.start() < begin or not _is_secret(found["name"]):
            continue
        if secret := value.match(text, found.end()):
            yield text[begin : found.end()] + blank
            begin = secret.end()
    yield text[begin:]
