"""Plans: what users write becomes targets; wrong input gets one line with the fix; nothing is lost on the way."""

import base64
import pickle
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.generator.plan import Origin, Plan, PlanError, Proxy, Step, Target, TlsOptions, request_bytes

TARGET = Target.parse("http://web1/")


def sent(target: Target, *, keepalive: bool = True, proxy: Proxy | None = None) -> list[str]:
    """The lines of the request's head."""
    plan = Plan((target,), (Step(concurrency=1),), keepalive=keepalive, user_agent="test", proxy=proxy)
    wire = request_bytes(target, plan)
    head, _, body = wire.partition(b"\r\n\r\n")
    assert body == (target.body or b"")
    return head.decode().split("\r\n")


@pytest.mark.parametrize(
    ("url", "clean", "address", "path"),
    [
        ("http://web1/", "http://web1/", ("http", "web1", 80), "/"),
        ("http://web1", "http://web1/", ("http", "web1", 80), "/"),
        ("web1/a?b=c", "http://web1/a?b=c", ("http", "web1", 80), "/a?b=c"),
        ("localhost:8080/x", "http://localhost:8080/x", ("http", "localhost", 8080), "/x"),
        ("https://Web1:443/", "https://web1/", ("https", "web1", 443), "/"),
        ("HTTPS://web1:80/", "https://web1:80/", ("https", "web1", 80), "/"),
        ("http://[::1]:81/a", "http://[::1]:81/a", ("http", "::1", 81), "/a"),
        ("http://[::1]/a", "http://[::1]/a", ("http", "::1", 80), "/a"),
        ("http://web1/a b/ü#part", "http://web1/a%20b/%C3%BC", ("http", "web1", 80), "/a%20b/%C3%BC"),
        ("http://web1/a%20b?x=[1]&y={}", "http://web1/a%20b?x=[1]&y={}", ("http", "web1", 80), "/a%20b?x=[1]&y={}"),
        ("http://web_1.example./", "http://web_1.example./", ("http", "web_1.example.", 80), "/"),
        ("http://web1?q", "http://web1/?q", ("http", "web1", 80), "/?q"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/", ("http", "xn--bcher-kva.example", 80), "/"),
    ],
)
def test_reads_urls(url: str, clean: str, address: tuple[str, str, int], path: str) -> None:
    target = Target.parse(url)
    origin = target.origin
    assert (target.url, (origin.scheme, origin.host, origin.port), target.path) == (clean, address, path)


def test_bytes_that_are_not_utf8_are_sent_unchanged() -> None:
    odd = b"\xff".decode("utf-8", "surrogateescape")
    target = Target.parse(f"http://me:{odd}@web1/{odd}?{odd}", headers=(("X", odd),))
    assert target.path == "/%FF?%FF"
    assert target.headers[1] == ("Authorization", "Basic " + base64.b64encode(b"me:\xff").decode())
    assert b"X: \xff\r\n" in request_bytes(target, Plan((target,), (Step(concurrency=1),)))


def test_a_user_in_the_url_becomes_basic_auth_and_is_gone_from_the_url() -> None:
    target = Target.parse("http://me:a%40b@web1/")
    assert target.url == "http://web1/"
    assert target.headers == (("Authorization", "Basic " + base64.b64encode(b"me:a@b").decode()),)
    assert Target.parse("http://me:x@web1/", headers=(("authorization", "Bearer y"),)).headers == (
        ("authorization", "Bearer y"),
    )


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("ftp://web1/", "use http:// or https://"),
        ("://web1/", "http://host"),
        ("http://web1..example/", "Invalid host name 'web1..example':"),
        ("http://.example/", "Invalid host name"),
        (f"http://{'a' * 64}.example/", "Invalid host name"),
        ("http:///x", "http://host"),
        ("http://web1:99999/", "http://host"),
        ("http://web1:0/", "1 to 65535"),
        ("http://web1:http/", "http://host"),
        ("http://[::zz]/", "check it|http://host"),
        ("http://[::1/", "http://host"),
        ("http://we b1/", "check the spelling"),
        ("http://web1/\r\nX: y", "remove it"),
        ("", "http://host"),
    ],
)
def test_a_wrong_url_is_reported_with_the_fix(url: str, fix: str) -> None:
    with pytest.raises(PlanError, match=fix) as caught:
        Target.parse(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({"method": "GET /"}, "GET, POST"),
        ({"headers": (("A b", "c"),)}, "Name: value"),
        ({"headers": (("A", "b\r\nc"),)}, "remove it"),
        ({"weight": 0.0}, "above 0"),
    ],
)
def test_unsendable_requests_are_refused(settings: dict[str, Any], fix: str) -> None:
    with pytest.raises(PlanError, match=fix):
        Target.parse("http://web1/", **settings)


@given(st.text(max_size=60))
def test_any_url_is_read_or_refused(url: str) -> None:
    try:
        target = Target.parse(url)
    except PlanError:
        return
    assert target.path.startswith("/")
    assert sent(target)[0] == f"GET {target.path} HTTP/1.1"
    assert Target.parse(target.url).url == target.url


@pytest.mark.parametrize(
    ("settings", "head"),
    [
        ({}, ["GET /x HTTP/1.1", "Host: web1:81", "User-Agent: test", "Accept: */*"]),
        (
            {"headers": (("host", "other"), ("ACCEPT", "text/html"), ("User-agent", "me"), ("X-A", "1"), ("X-A", "2"))},
            ["GET /x HTTP/1.1", "host: other", "ACCEPT: text/html", "User-agent: me", "X-A: 1", "X-A: 2"],
        ),
        (
            {"headers": (("Cookie", "a=1"), ("X", "y"), ("cookie", "b=2"))},
            ["GET /x HTTP/1.1", "Host: web1:81", "User-Agent: test", "Accept: */*", "X: y", "Cookie: a=1; b=2"],
        ),
    ],
    ids=["the usual headers", "given ones replace them", "cookies go in one"],
)
def test_the_head_of_a_request(settings: dict[str, Any], head: list[str]) -> None:
    target = Target.parse("http://web1:81/x", **settings)
    assert sent(target) == head
    assert set(sent(target, keepalive=False)) == {*head, "Connection: close"}


def test_a_body_has_length_and_type() -> None:
    lines = sent(Target.parse("http://web1/", method="POST", body=b"\x00\xff"))
    assert {"Content-Length: 2", "Content-Type: text/plain"} <= set(lines)
    typed = sent(Target.parse("http://web1/", method="PUT", body=b"", headers=(("Content-type", "a/b"),)))
    assert {"Content-Length: 0", "Content-type: a/b"} <= set(typed)
    assert "Content-Type: text/plain" not in typed


def test_a_proxy_gets_the_whole_url() -> None:
    lines = sent(Target.parse("http://web1:81/x?y"), proxy=Proxy(Origin("http", "proxy1", 3128), "Basic eA=="))
    assert lines[0] == "GET http://web1:81/x?y HTTP/1.1"
    assert lines[-1] == "Proxy-Authorization: Basic eA=="


TEXTS = st.text(string.ascii_letters + string.digits + "-", min_size=1, max_size=10)


def make_target(
    host: str, path: str, method: str, headers: tuple[tuple[str, str], ...], body: bytes | None, weight: float
) -> Target:
    return Target.parse(f"http://{host}.example/{path}", method=method, headers=headers, body=body, weight=weight)


TARGETS = st.builds(
    make_target,
    st.text(string.ascii_lowercase, min_size=1, max_size=10),
    TEXTS,
    st.sampled_from(["GET", "POST", "PURGE"]),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
    st.none() | st.binary(max_size=50),
    st.floats(0.01, 100),
)
STEPS = st.builds(
    Step,
    concurrency=st.integers(1, 1000),
    rate=st.none() | st.floats(0.1, 1e5),
    duration_s=st.none() | st.floats(0.1, 1e5),
    requests=st.none() | st.integers(1, 10**9),
    targets=st.none() | st.just((0,)),
)
ORIGINS = st.builds(Origin, st.just("http"), TEXTS, st.integers(1, 65535))
PLANS = st.builds(
    Plan,
    targets=st.lists(TARGETS, min_size=1, max_size=3).map(tuple),
    steps=st.lists(STEPS, min_size=1, max_size=3).map(tuple),
    keepalive=st.booleans(),
    timeout_s=st.floats(0.1, 1e4),
    any_length=st.booleans(),
    keep_going=st.booleans(),
    verify_tls=st.booleans(),
    warmup_s=st.floats(0, 1e4),
    workers=st.integers(1, 64),
    proxy=st.none() | st.builds(Proxy, ORIGINS, st.none() | TEXTS),
    bind=st.none() | st.just("127.0.0.2"),
    socket_buffer=st.none() | st.integers(1, 1 << 20),
    tls=st.builds(TlsOptions, st.none() | st.just("TLS1.2"), st.none() | TEXTS, st.none() | TEXTS, st.booleans()),
)


@given(PLANS)
def test_a_plan_reaches_a_worker_unchanged(plan: Plan) -> None:
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301 (made here)


def test_a_body_of_many_targets_is_sent_once() -> None:
    body = b"\x00" * 1000
    targets = tuple(Target.parse(f"http://web1/{number}", method="POST", body=body) for number in range(50))
    plan = Plan((*targets, TARGET), (Step(concurrency=1),))
    sent_bytes = pickle.dumps(plan)
    assert sent_bytes.count(body) == 1
    again = pickle.loads(sent_bytes)  # noqa: S301 (made here)
    assert again == plan
    assert again.targets[0].body is again.targets[49].body


ONE_STEP = Step(concurrency=1)


@pytest.mark.parametrize(
    ("made", "settings"),
    [
        *(
            (Step, settings)
            for settings in (
                {"concurrency": 0}, {"concurrency": 1, "requests": 0}, {"concurrency": 1, "duration_s": 0.0},
                {"rate": 0.0}, {"rate": float("nan")},
            )
        ),
        *(
            (Plan, {"targets": (TARGET,), "steps": (ONE_STEP,), **settings})
            for settings in (
                {"timeout_s": 0.0}, {"warmup_s": -1.0}, {"workers": 0}, {"socket_buffer": 0},
            )
        ),
    ],
)  # fmt: skip
def test_an_impossible_run_is_refused(made: type[Step] | type[Plan], settings: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        made(**settings)
