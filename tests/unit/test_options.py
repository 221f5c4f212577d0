"""The command line: ab's letters, and one line with the fix for what is wrong."""

from base64 import b64encode
from pathlib import Path

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.table import DEFAULT_CONCURRENCY, DEFAULT_TIME_S

URL = "http://127.0.0.1:8080/"


def test_a_bare_url_gets_a_load_that_shows_something() -> None:
    plan = parse([URL]).plan
    step = plan.steps[0]
    assert (step.concurrency, step.duration_s, step.requests) == (DEFAULT_CONCURRENCY, DEFAULT_TIME_S, None)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-n", "100"], (1, None, 100)),
        (["-n", "100", "-c", "20"], (20, None, 100)),
        (["-t", "10"], (1, 10.0, None)),
        (["-t", "10", "-n", "7"], (1, 10.0, 7)),
        (["-n", "7", "-t", "10"], (1, 10.0, 7)),
        (["-c", "3"], (3, DEFAULT_TIME_S, None)),
        (["-kc5", "-n10"], (5, None, 10)),
        (["--concurrency=4", "--requests=8"], (4, None, 8)),
    ],
)
def test_letters_mean_the_same_as_in_ab(words: list[str], expected: tuple[object, ...]) -> None:
    plan = parse([*words, URL]).plan
    assert (plan.steps[0].concurrency, plan.steps[0].duration_s, plan.steps[0].requests) == expected


def test_run_is_the_same_as_nothing() -> None:
    assert vars(parse(["run", "-n", "5", URL])) == vars(parse(["-n", "5", URL]))


def test_headers_cookies_and_authentication_are_all_sent() -> None:
    plan = parse(["-H", "X-A: 1", "-H", "X-B:2", "-C", "a=1", "-C", "b=2", "-A", "me:pw:x", "-n1", URL]).plan
    headers = dict(plan.targets[0].headers)
    assert headers["X-A"] == "1"
    assert headers["X-B"] == "2"
    assert headers["Cookie"] == "a=1; b=2"
    assert headers["Authorization"] == "Basic " + b64encode(b"me:pw:x").decode()


@pytest.mark.parametrize(
    ("words", "method"),
    [([], "GET"), (["-i"], "HEAD"), (["-p"], "POST"), (["-u"], "PUT"), (["-m", "PATCH", "-p"], "PATCH")],
)
def test_methods_and_bodies(words: list[str], method: str, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(b"a=1")
    given = [part for word in words for part in ((word, str(body)) if word in ("-p", "-u") else (word,))]
    plan = parse([*given, "-n1", URL]).plan
    assert plan.targets[0].method == method
    assert plan.targets[0].body == (b"a=1" if str(body) in given else None)


def test_machines_status_pages_and_rules() -> None:
    options = parse(
        ["--host", "web=local", "--apache", "web:http://127.0.0.1/s", "--fail-if", "web.cpu.idle<5% for 10s", URL]
    )
    assert options.hosts == [("web", "local")]
    assert options.status_urls["web"]["apache"] == ["http://127.0.0.1/s"]
    assert options.fail_if[0].hold_s == 10.0


@pytest.mark.parametrize(
    ("option", "url"),
    [
        ("--fpm", "http://127.0.0.1/status"),
        ("--fpm", "fcgi://127.0.0.1:9000/status"),
        ("--fpm", "tcp://[::1]:9000"),
        ("--fpm", "unix:/run/php/fpm.sock;/status"),
        ("--fpm", "unix:///run/php/fpm.sock"),
        ("--haproxy", "http://127.0.0.1:8404/stats;csv"),
        ("--haproxy", "http://me:secret@127.0.0.1:8404/stats"),
        ("--haproxy", "unix:/run/haproxy/admin.sock"),
        ("--haproxy", "/run/haproxy/admin.sock"),
        ("--haproxy", "tcp://127.0.0.1:9999"),
    ],
)
def test_pages_of_php_fpm_and_haproxy(option: str, url: str) -> None:
    for name in (None, "web"):
        given = url if name is None else f"{name}:{url}"
        options = parse(["watch", "--host", "web=local", option, given])
        assert options.status_urls["web"][option.removeprefix("--")] == [url]


@pytest.mark.parametrize("option", ["--redis", "--mysql", "--postgresql"])
@pytest.mark.parametrize("address", ["db1:6379", "[::1]:6379", "unix:/run/x.sock", "/run/x.sock"])
def test_addresses_of_databases(option: str, address: str) -> None:
    for given in (address, f"web:{address}"):
        options = parse(["watch", "--host", "web=local", option, given])
        assert options.status_urls["web"][option.removeprefix("--")] == [address]
    for wrong in ("db1", "db1:port", "//db1/x", "redis://:secret@db1:6379"):
        with pytest.raises(UsageError, match="HOST:PORT"):
            parse(["watch", option, wrong])


def test_a_warm_up_of_nothing_is_none() -> None:
    assert parse(["--warmup", "0", "-n", "1", URL]).plan.warmup_s == 0


def test_a_command_has_its_sums_as_ab_would_say_them() -> None:
    assert parse(["watch", "--ab", "--", "wrk", URL]).ab
    assert parse(["demo", "--ab"]).ab


def test_steps_are_one_after_another() -> None:
    plan = parse(["--steps", "1,2,4", "--step-time", "3", URL]).plan
    assert [(step.concurrency, step.duration_s) for step in plan.steps] == [(1, 3.0), (2, 3.0), (4, 3.0)]
    plan = parse(["--steps", "1,2", "-n", "20", URL]).plan
    assert [(step.concurrency, step.requests, step.duration_s) for step in plan.steps] == [(1, 20, None), (2, 20, None)]


def test_an_open_model_starts_requests_at_a_rate() -> None:
    plan = parse(["--rate", "50", "-t", "10", URL]).plan
    assert (plan.steps[0].rate, plan.steps[0].concurrency, plan.steps[0].duration_s) == (50.0, None, 10.0)


def test_a_list_of_urls_carries_weights_methods_and_bodies(tmp_path: Path) -> None:
    body, urls = tmp_path / "body", tmp_path / "urls"
    body.write_bytes(b"x")
    urls.write_text(f"# front page\n{URL}\n\n{URL}buy 0.5 POST {body}\n")
    plan = parse(["--urls", str(urls)]).plan
    assert [(target.path, target.weight, target.method, target.body) for target in plan.targets] == [
        ("/", 1.0, "GET", None),
        ("/buy", 0.5, "POST", b"x"),
    ]
    urls.write_text(f"{URL}\n{URL} heavy\n")
    with pytest.raises(UsageError, match="line 2"):
        parse(["--urls", str(urls)])


def test_a_list_of_urls_may_come_from_another_system(tmp_path: Path) -> None:
    urls = tmp_path / "urls"
    urls.write_bytes(b"\xef\xbb\xbf" + f"{URL}a 2\r\n\r\n# page b\r\n{URL}b\r\n".encode())
    plan = parse(["--urls", str(urls)]).plan
    assert [(target.path, target.weight) for target in plan.targets] == [("/a", 2.0), ("/b", 1.0)]


def test_the_type_of_a_body_goes_with_the_bodies_alone(tmp_path: Path) -> None:
    body, urls = tmp_path / "body", tmp_path / "urls"
    body.write_bytes(b"{}")
    urls.write_text(f"{URL}\n{URL}buy 1 POST {body}\n")
    plan = parse(["--urls", str(urls), "-T", "application/json"]).plan
    assert [target.headers for target in plan.targets] == [(), (("Content-Type", "application/json"),)]
    urls.write_text(f"{URL}\n")
    with pytest.raises(UsageError, match="-T needs a body"):
        parse(["--urls", str(urls), "-T", "application/json"])


def test_a_proxy_with_its_password() -> None:
    with pytest.raises(UsageError, match="-P USER:PASSWORD") as error:
        parse(["-X", "me:pw@proxy:3128", URL])
    assert "pw@" not in str(error.value)
    plan = parse(["-X", "proxy:3128", "-P", "me:pw", "-n1", URL]).plan
    assert plan.proxy is not None
    assert (plan.proxy.origin.host, plan.proxy.origin.port) == ("proxy", 3128)
    assert plan.proxy.authorization == "Basic " + b64encode(b"me:pw").decode()


@pytest.mark.parametrize(
    "place",
    ["ssh://web1", "ssh://root@web-1.example.org:2222", "ssh://192.0.2.1", "ssh://[2001:db8::1]:22", "local", "psutil"],
)
def test_places(place: str) -> None:
    for verb in ("watch", "doctor"):
        assert parse([verb, "--host", f"web={place}"]).hosts == [("web", place)]


def test_the_machine_that_sends_the_load_is_watched_too() -> None:
    far = ["--host", "web=ssh://web1"]
    assert parse([*far, URL]).hosts == [("web", "ssh://web1"), ("local", "local")]
    assert parse(["--host", "local=ssh://web1", URL]).hosts[1] == ("generator", "local")
    assert parse([*far, "--host", "me=local", URL]).hosts == [("web", "ssh://web1"), ("me", "local")]
    assert parse(["watch", *far]).hosts == [("web", "ssh://web1")]
    assert parse([*far, "--fail-if", "local.cpu.idle<5%", URL]).fail_if


def test_a_rule_may_be_about_a_machine_that_generates() -> None:
    words = ["--engine", "locust", "--generator", "g1=ssh://g1", "--fail-if", "g1.cpu.idle<5%", URL]
    assert parse(words).fail_if[0].host == "g1"
