"""No secret of a command line or a URL is left in what is written down."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadtop.i18n import plural, verbatim
from loadtop.i18n.outside import MAX_TEXT
from loadtop.model import Frame, HostState
from loadtop.model.secrets import BLANK, blanked, url_without_secrets, without_secrets
from loadtop.pipeline.snapshot import Pipeline
from tests.unit.processor_time import allowed_s, least_s

MARK = "Hu5h"


def marked(excluded: str = "") -> st.SearchStrategy[str]:
    around = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=excluded), max_size=6)
    return st.tuples(around, around).map(MARK.join)


SECRET, URL_SECRET, VALUE_SECRET = marked(), marked("/?#"), marked("&#")
FLAGS = st.text("kilrdSqw", max_size=3)
HARMLESS = st.sampled_from(
    ["-n", "100", "-c10", "-k", "--json", "out.json", "--", "-H", "Accept: text/html", "-t", "5", "watch", "-kc", "8"]
)


@st.composite
def secret_words(draw: st.DrawFn) -> list[str]:
    """One secret in one of the ways in which it can be given."""
    secret, in_url, value, flags = draw(SECRET), draw(URL_SECRET), draw(VALUE_SECRET), draw(FLAGS)
    letter = draw(st.sampled_from("APC"))
    name = draw(st.sampled_from(["--auth", "--proxy-auth", "--cookie", "--password", "--api-key", "--oauth2-bearer"]))
    header = draw(st.sampled_from(["Authorization", "cookie", "Proxy-Authorization", "X-Auth-Token", "Cookie "]))
    after = draw(st.sampled_from([":", ": ", ":\t", ": Basic "]))
    user = draw(st.sampled_from(["u:", "", ":", "user.name:", "u%40x:"]))
    scheme = draw(st.sampled_from(["http://", "https://", "HTTP://", "web1:http://", "socks5://", "//"]))
    spellings = [
        [f"-{flags}{letter}", f"u:{secret}"],
        [f"-{flags}{letter}u:{secret}"],
        [f"-{flags}{letter}={secret}"],
        [name, secret],
        [f"{name}={secret}"],
        [f"-{flags}H", f"{header}{after}{secret}"],
        [f"-{flags}H{header}{after}{secret}"],
        ["--header", f"{header}{after}{secret}"],
        [f"--header={header}{after}{secret}"],
        [f"{scheme}{user}{in_url}@web1:8080/index.php?a=b@c"],
        [f"--apache={scheme}{user}{in_url}@web1/server-status?auto"],
        [f"-X{user}{in_url}@proxy:3128" if ":" in user else f"-Xu:{in_url}@proxy:3128"],
        ["-X", f"u:{in_url}@proxy:3128"],
        ["-u", f"u:{secret}"],
        ["--user", f"u:{secret}"],
        [f"http://web1/?a=1&token={value}"],
        [f"-Jpassword={value}"],
    ]
    return draw(st.sampled_from(spellings))


@given(before=st.lists(HARMLESS, max_size=4), secret=secret_words(), after=st.lists(HARMLESS, max_size=4))
@example(before=[], secret=["-H", f"Authorization:@{MARK}"], after=[])
def test_no_secret_is_left(before: list[str], secret: list[str], after: list[str]) -> None:
    assert MARK not in " ".join(without_secrets([*before, *secret, *after]))


@given(argv=st.lists(st.one_of(HARMLESS, SECRET, secret_words().map(" ".join), st.text(max_size=8)), max_size=6))
def test_blanking_twice_changes_nothing_more(argv: list[str]) -> None:
    once = without_secrets(argv)
    assert without_secrets(once) == once
    assert len(once) == len(argv)


@pytest.mark.parametrize(
    "argv",
    [
        ["-n", "100", "-c", "10", "-k", "http://web1/index.php?page=2"],
        ["--host", "web=ssh://bob@web1", "--apache", "web:http://127.0.0.1/server-status?auto", "http://web1/"],
        ["-H", "Accept: text/html", "-HHost: a.example:8080", "-u", "body.txt", "http://web1:8080/a@b"],
        ["-p", "post.json", "-T", "application/json", "--json=-", "--fail-if", "p99>500ms", "https://[::1]:8443/"],
        ["watch", "--", "wrk", "-c", "5", "-d10", "http://web1/x:y@z/"],
    ],
)
def test_text_without_secrets_is_unchanged(argv: list[str]) -> None:
    assert without_secrets(argv) == argv


def test_the_rest_of_the_word_stays() -> None:
    assert without_secrets(["-kAbob:pw", "--cookie=a=b", "-HCookie: x", "https://bob:pw@web1/a?token=1&b=2"]) == [
        f"-kA{BLANK}",
        f"--cookie={BLANK}",
        f"-HCookie: {BLANK}",
        f"https://{BLANK}@web1/a?token={BLANK}&b=2",
    ]


SECRET_NAMES = (
    "token", "sessionid", "key", "sig", "code", "jwt", "sid", "PHPSESSID", "JSESSIONID", "access_key", "accessKey",
    "AWSAccessKeyId", "pw", "bearer", "api.key", "apikey", "client_secret", "user[password]", "X-Amz-Signature", "csrf",
    "connect.sid", "SAMLResponse", "otp",
)  # fmt: skip
HARMLESS_NAMES = ("page", "keyword", "monkey", "sort", "n", "status", "decoder", "inside", "spin", "design")


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_parameters_of_these_names(name: str) -> None:
    assert url_without_secrets(f"http://web1/?a=1&{name}={MARK}&b=2") == f"http://web1/?a=1&{name}={BLANK}&b=2"
    assert without_secrets([f"--data=a=1&{name}={MARK}"]) == [f"--data=a=1&{name}={BLANK}"]
    assert MARK not in url_without_secrets(f"theme=dark;{name}={MARK}")
    assert MARK not in url_without_secrets(f"POST failed: {{'user': 'bob', '{name}': ['{MARK}']}}")


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_parameters_of_other_names_stay(name: str) -> None:
    assert url_without_secrets(f"http://web1/?{name}=2") == f"http://web1/?{name}=2"


@pytest.mark.parametrize(
    "name",
    ["Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Access-Key", "X-JWT-Assertion", "X-Only-Its-Server-Knows"],
)
def test_headers_are_blanked_unless_they_are_known_to_be_harmless(name: str) -> None:
    assert without_secrets(["-H", f"{name}: {MARK}"]) == ["-H", f"{name}: {BLANK}"]
    harmless = ["-H", "Accept-Language: en", "-H", "If-None-Match: x", "-HUser-Agent: me", "-H", "X-Forwarded-For: ::1"]
    assert without_secrets(harmless) == harmless


@pytest.mark.parametrize(
    "text",
    [
        f"refused: Authorization: Basic {MARK}==",
        f"X-Api-Key: {MARK}",
        f"it said: bearer {MARK}abc",
        f"Digest {MARK}1234",
        f"eyJ{MARK}abcdefgh.eyJ{MARK}.{MARK}",
        f'{{"pin": 1, "tokens": ["{MARK}", "{MARK}"]}}',
        f'{{"token": "{MARK}',
        f"/var/lib/php/sessions/sess_{MARK}",
    ],
)
def test_what_others_say(text: str) -> None:
    assert MARK not in url_without_secrets(text)


def test_plain_words_stay() -> None:
    for text in ("a basic explanation", "nothing listens there: is sshd running", "pm.max_children = 16 (now 8)"):
        assert url_without_secrets(text) == text


HOSTILE: dict[str, Callable[[int], str]] = {
    "one word": lambda size: "a" * size,
    "a name that never ends in =": lambda size: "a" * (size - 2) + " =",
    "assignments": lambda size: "a=" * (size // 2),
    "secret assignments": lambda size: "key=" * (size // 4),
    "schemes": lambda size: "a://" * (size // 4) + "@",
    "users": lambda size: "//a:b" * (size // 5),
    "users that lead nowhere": lambda size: "//a:b" * (size // 5) + " @",
    "at signs": lambda size: "//" + "@" * size,
    "quotation marks": lambda size: '"' * size + ":",
    "members": lambda size: '"a":' * (size // 4),
    "members without an end": lambda size: '"key":"\\' * (size // 8),
    "headers": lambda size: "x-key-" * (size // 6) + ":",
    "cookies": lambda size: "cookie " * (size // 7) + ":",
    "credentials": lambda size: "basic " * (size // 6),
    "tokens": lambda size: "eyJ." * (size // 4),
    "blanks": lambda size: " " * size + "=:@",
}


@pytest.mark.parametrize("size", [40_000, 1_000_000])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str, size: int) -> None:
    text = HOSTILE[name](size)
    limit_s = allowed_s(0.05)
    assert least_s(lambda: (without_secrets([text, "-H", text]), url_without_secrets(text)), limit_s) <= limit_s


def test_a_long_text_that_can_have_a_secret_is_cut() -> None:
    assert len(url_without_secrets("a b" * MAX_TEXT)) == MAX_TEXT


def test_an_unescaped_slash_in_a_password() -> None:
    assert url_without_secrets("http://bob:p/w@web1/") == f"http://{BLANK}@web1/"


def test_the_account_is_not_a_secret_but_its_password_is() -> None:
    assert url_without_secrets("ssh://bob@web1 http://a:b@c/") == f"ssh://bob@web1 http://{BLANK}@c/"
    assert url_without_secrets("ssh://bob:pw@web1") == f"ssh://{BLANK}@web1"


def test_members_of_a_body_on_the_command_line() -> None:
    body = without_secrets(["curl", "-d", '{"user": "bob", "password": "p\\"w"}'])[2]
    assert body == f'{{"user": "bob", "password": "{BLANK}"}}'


def test_whatever_shows_a_frame_sees_no_secret() -> None:
    state = HostState("web1", "target", None, fresh=False, problem=verbatim(f"http://bob:{MARK}@web1/ is silent"))
    snapshot = Pipeline().snapshot(Frame(1, 0.0, 0.0, None, (state,), (f"?token={MARK}",)))
    assert MARK not in repr(snapshot)


def test_a_long_text_that_can_have_no_secret_stays() -> None:
    scoreboard = "_W" * MAX_TEXT
    assert url_without_secrets(scoreboard) == scoreboard


def test_a_message_keeps_its_form_of_the_plural() -> None:
    url = plural(3, "{n} answer of {url}", "{n} answers of {url}", url="http://bob:pw@web1/")
    assert str(blanked(url)) == f"3 answers of http://{BLANK}@web1/"
    frame = Frame(1, 0.0, 0.0, None, (), ("calm",))
    assert blanked(frame) is frame
