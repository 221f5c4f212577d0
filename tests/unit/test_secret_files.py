"""``@FILE`` instead of a secret: what is read, what is refused, and that no message repeats a secret."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from loadtop.cli.exit_codes import FILE, ExitError
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.secret_file import LARGEST
from loadtop.generator.plan import Plan

URL = "http://127.0.0.1:8080/"
SECRET = "hunter2"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "secret"
    found.touch(0o600)
    return found


def plan(*words: str) -> Plan:
    return parse([*words, "-n1", URL]).plan


def headers(*words: str) -> dict[str, str]:
    return dict(plan(*words).targets[0].headers)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_user_and_a_password(file: Path, end: str) -> None:
    file.write_text(f"me:{SECRET}{end}")
    encoded = "Basic " + b64encode(f"me:{SECRET}".encode()).decode()
    assert headers("-A", f"@{file}")["Authorization"] == encoded
    proxy = plan("-X", "127.0.0.1:3128", "-P", f"@{file}").proxy
    assert proxy is not None
    assert proxy.authorization == encoded


def test_a_cookie_and_headers(file: Path, tmp_path: Path) -> None:
    file.write_text(f"sid={SECRET}\n")
    more = tmp_path / "headers"
    more.touch(0o600)
    more.write_text(f"X-Api-Key: {SECRET}\n\nX-Other:2\n")
    found = headers("-C", f"@{file}", "-C", "a=1", "-H", f"@{more}", "-H", "X-A: 1")
    assert found == {"X-Api-Key": SECRET, "X-Other": "2", "X-A": "1", "Cookie": f"sid={SECRET}; a=1"}


def test_invalid_bytes_are_sent_unchanged(file: Path) -> None:
    file.write_bytes(b"me:\xe9\n")
    assert headers("-A", f"@{file}")["Authorization"] == "Basic " + b64encode(b"me:\xe9").decode()


def test_a_pipe_is_a_file(file: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, f"me:{SECRET}\n".encode())
    os.close(writing)
    assert "Authorization" in headers("-A", f"@/dev/fd/{reading}")
    os.close(reading)
    assert file.exists()


@pytest.mark.parametrize(
    ("content", "words", "part"),
    [
        (None, ("-A",), "No such file or directory"),
        ("", ("-A",), "is empty"),
        ("\n \n", ("-C",), "is empty"),
        (f"me:{SECRET}\nyou:{SECRET}\n", ("-A",), "must contain one line, but has 2"),
        (f"{SECRET}\n", ("-A",), "needs USER:PASSWORD"),
        (f"{SECRET}\n", ("-X", "127.0.0.1:1", "-P"), "needs USER:PASSWORD"),
        (f"{SECRET}\n", ("-C",), "-C must be NAME=VALUE"),
        (f"X-A: 1\n{SECRET}\n", ("-H",), "entry 2 of the file is not a header"),
        (f"X-A: 1\n{SECRET} and: more\n", ("-H",), "entry 2 of the file is not a header"),
        (f"X-A: \x01{SECRET}\n", ("-H",), "contains a line break or control character"),
        ("x" * (LARGEST + 1), ("-A",), "larger than 64 kB"),
    ],
)
def test_an_unusable_value_is_reported_without_the_secret(
    file: Path, content: str | None, words: tuple[str, ...], part: str
) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(ExitError) as raised:
        plan(*words, f"@{file}")
    assert part in str(raised.value.text)
    assert SECRET not in str(raised.value.text)
    assert "\n" not in str(raised.value.text)


def test_a_missing_file_has_the_exit_code_of_files(file: Path) -> None:
    with pytest.raises(ExitError) as raised:
        plan("-A", f"@{file}.missing")
    assert raised.value.code == FILE


def test_who_else_can_read_it_is_reported_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"me:{SECRET}\n")
    plan("-A", f"@{file}")
    assert capsys.readouterr().err == ""
    file.chmod(0o644)
    plan("-A", f"@{file}")
    plan("-A", f"@{file}")
    assert capsys.readouterr().err == f"loadtop: every user of this machine can read {file}: chmod 600 {file}\n"
