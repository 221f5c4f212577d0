"""Machines to watch, from the command line."""

import pytest

from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.command_line import parse

URL = "http://127.0.0.1:8080/"


@pytest.mark.parametrize(
    "place", ["ssh://web1", "ssh://root@web-1.example.org:2222", "ssh://192.0.2.1", "ssh://[2001:db8::1]:22", "local"]
)
def test_places(place: str) -> None:
    assert parse(["watch", "--host", f"web={place}"]).hosts == [("web", place)]


@pytest.mark.parametrize(
    "place",
    [
        "",
        "web1",
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://a b",
        "ssh://h:0",
        "ssh://h:65536",
        "ssh://h/x",
        "ssh://$(x)",
    ],
)
def test_what_is_no_place(place: str) -> None:
    with pytest.raises(UsageError, match="ssh://") as error:
        parse(["watch", "--host", f"web={place}"])
    assert "\n" not in str(error.value)


def test_a_place_without_its_name_is_told_how_to_be_given() -> None:
    with pytest.raises(UsageError, match=r"--host NAME=ssh://web1$"):
        parse(["watch", "ssh://web1", "ssh://web2"])


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
