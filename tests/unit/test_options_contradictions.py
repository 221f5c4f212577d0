"""Options that contradict each other: one line with the fix and exit code 2, before anything is sent."""

from pathlib import Path

import pytest

from loadtop.cli import main
from loadtop.cli.options.command_line import parse

URL = "http://127.0.0.1:1/"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["-c", "10", "-n", "5"], ["-c 10", "-n 5"]),
        (["--steps", "2,8", "-n", "5"], ["step of 8", "-n 5"]),
        (["--steps", "1,2", "-c", "4"], ["--steps", "-c"]),
        (["--steps", "1,2", "-t", "4"], ["--steps", "-t", "--step-time"]),
        (["--step-time", "3"], ["--step-time", "--steps"]),
        (["--steps", "1,x"], ["'x'"]),
        (["--steps", "0,1"], ["1 to"]),
        (["--workers", "4", "-c", "2"], ["--workers 4", "-c"]),
        (["--workers", "several"], ["--workers", "several"]),
        (["-i", "-p", "BODY"], ["-p", "-i", "contradict"]),
        (["-u", "BODY", "-p", "BODY"], ["-p", "-u", "contradict"]),
        (["-i", "-m", "PUT"], ["-i", "-m PUT"]),
        (["-A", "a:b", "-H", "authorization: Basic x"], ["-A", "-H"]),
        (["-p", "BODY", "-T", "a/b", "-H", "Content-Type: c/d"], ["-T", "-H"]),
        (["-X", "127.0.0.1:1", "-P", "a:b", "-H", "Proxy-Authorization: x"], ["-P", "-H"]),
        (["-k", "-H", "connection: Close"], ["-k", "Connection: close"]),
        (["-k", "-H", "Connection: foo, CLOSE"], ["-k", "Connection: close"]),
        (["-k", "-H", "Connection: foo", "-H", "connection: close ,bar"], ["-k", "Connection: close"]),
        (["-P", "a:b"], ["-P", "-X"]),
        (["-X", "http://127.0.0.1:1"], ["-X 'http://127.0.0.1:1'", "HOST:PORT, without http://"]),
        (["-X", "127.0.0.1:1/x"], ["-X", "HOST:PORT"]),
        (["-X", "::1"], ["-X '::1'", "HOST:PORT"]),
        (["-X", "a..b:1"], ["-X 'a..b:1'", "HOST:PORT"]),
        (["-b", "1000000000000"], ["-b 1000000000000", "2147483647 bytes"]),
        (["-m", ""], ["''", "GET"]),
        (["-c", "5000", "--workers", "2000"], ["--workers 2000", "1024"]),
        (["--rate", "1e9"], ["--rate", "below 10 million"]),
        (["-T", "text/html"], ["-T", "-p"]),
        (["-B", "::1"], ["-B ::1", "IPv6", "IPv4"]),
        (["-B", "here"], ["-B here"]),
        (["-f", "SSL3"], ["-f SSL3", "TLS1.3"]),
        (["-Z", "ROT13"], ["-Z ROT13"]),
        (["-E", "BODY"], ["-E", "certificate"]),
        (["-f", "TLS1.3", "-Z", "HIGH"], ["-Z HIGH", "-f TLS1.3"]),
        (["-f", "TLS1.2"], ["-f is", "https"]),
        (["-Z", "HIGH"], ["-Z is", "https"]),
        (["-I"], ["-I is", "https"]),
        (["--insecure"], ["--insecure is", "https"]),
        (["-I", "--insecure", "-f", "ALL"], ["-f, -I, --insecure are", "https"]),
        (["-H", "Content-Length: 5"], ["'Content-Length: 5'", "-p"]),
        (["-H", "content-length: much"], ["'Content-Length: much'", "-p"]),
        (["-p", "BODY", "-H", "Content-Length: 5"], ["'Content-Length: 5'", "3 bytes"]),
        (["-p", "BODY", "-H", "Content-Length: 3", "-H", "Content-Length: 3"], ["Content-Length", "twice"]),
        (["-p", "BYTE", "-H", "Content-Length: 5"], ["'Content-Length: 5'", "of 1 byte:"]),
        (["--urls", "LIST", "-H", "Content-Length: 3"], ["'Content-Length: 3'", "-p"]),
        (["-H", "Transfer-Encoding: chunked"], ["'Transfer-Encoding: chunked'", "-p"]),
        (["-p", "BODY", "-H", "transfer-encoding: chunked"], ["'Transfer-Encoding: chunked'", "leave it out"]),
        (["-w", "--ab"], ["-w", "--ab"]),
        (["-x", "border=1", "--ab"], ["-w", "--ab"]),
        (["-v", "much"], ["-v", "much"]),
        (["--rate", "0"], ["--rate", "above 0"]),
        (["--rate", "fast"], ["--rate must be a number, got 'fast'"]),
        (["-A", "nobody"], ["-A"]),
        (["-C", "cookie"], ["-C"]),
        (["-H", "header"], ["-H"]),
        (["-s", "0"], ["-s"]),
        (["-s", "0.0005"], ["-s 0.0005", "0.001 seconds or more"]),
        (["--warmup", "-1"], ["--warmup", "0 or more"]),
        (["--warmup", "nan"], ["--warmup", "0 or more"]),
        (["--warmup", "1e9"], ["--warmup", "below 10 million"]),
    ],
)
def test_is_said_in_one_line(
    words: list[str], named: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = tmp_path / "body"
    body.write_text("a=1")
    urls = tmp_path / "urls"
    urls.write_text(f"{URL} 1 POST {body}\n")
    byte = tmp_path / "byte"
    byte.write_text("a")
    files = {"BODY": str(body), "BYTE": str(byte), "LIST": str(urls)}
    assert main(["--no-record", "--headless", *(files.get(word, word) for word in words), URL]) == 2
    said = capsys.readouterr()
    assert not said.out
    (line,) = said.err.splitlines()
    assert line.startswith("loadtop: ")
    assert all(name in line for name in named), line


def test_settings_of_tls_go_with_the_plan_of_a_user(tmp_path: Path) -> None:
    """What such a plan requests, only its engine knows."""
    own = tmp_path / "own.py"
    own.write_text("import locust\n")
    assert parse(["--engine", "locust", "--plan", str(own), "--insecure", "-t", "1", URL]).plan is not None


@pytest.mark.parametrize(
    "words",
    [
        ["-i", "-m", "HEAD", "-n", "1"],
        ["--steps", "1,4", "--workers", "2", "--step-time", "1"],
        ["--rate", "5", "--workers", "3", "-n", "3"],
        ["-B", "127.0.0.1", "-X", "localhost:1", "-n", "1"],
        ["-m", "POST", "-H", "Content-Length: 0", "-n", "1"],
        ["-k", "-H", "Connection: closed, x-close", "-n", "1"],
        ["-I", "--insecure", "-f", "TLS1.2", "-Z", "HIGH", "-n", "1", "https://127.0.0.1:1/"],
    ],
)
def test_what_goes_together_is_no_contradiction(words: list[str]) -> None:
    assert parse([*words, URL]).plan is not None


def test_a_warm_up_of_nothing_is_none() -> None:
    plan = parse(["--warmup", "0", "-n", "1", URL]).plan
    assert plan is not None
    assert plan.warmup_s == 0
