"""Our report in ab's format beside ab's own, of the same load on the same server."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.loads.program import loadtop
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.program import find_program

BANNER = 3
"""ab's banner has three lines and ours one: whose program it is differs, of course."""


def run(*command: str) -> list[str]:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def lines_of(*words: str) -> list[str]:
    """What loadtop prints."""
    done = loadtop(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def shape(line: str) -> str:
    """The line with every number replaced: digits and the blanks before them, which stand for one another."""
    return re.sub(r"\s*\d+(\.\d+)?", lambda match: " #." if match[1] else " #", line)


def ours_and_abs(url: str, *options: str) -> tuple[list[str], list[str]]:
    """What both print for these options, without banners and without remarks on medians that are far apart."""
    ab = find_program("ab", install="apt-get install apache2-utils")
    theirs = run(ab, "-q", *options, url)[BANNER:]
    ours = lines_of("--headless", "-q", "--no-record", "--ab", *options, url)[1:]
    remarks = ("WARNING", "ERROR", "       ")
    return tuple([line for line in lines if not line.startswith(remarks)] for lines in (ours, theirs))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "options",
    [
        ["-n", "200", "-c", "4"],
        ["-k", "-n", "200", "-c", "4"],
        ["-n", "100", "-c", "2", "-d"],
        ["-n", "100", "-c", "2", "-S"],
        ["-n", "1"],
    ],
)
def test_every_line_is_where_ab_has_it(web: Apache, options: list[str]) -> None:
    ours, theirs = ours_and_abs(web.url, *options)
    assert [shape(line) for line in ours] == [shape(line) for line in theirs]
    same = ("Server", "Document", "Concurrency", "Complete", "Failed", "Keep-Alive", "HTML")
    assert [line for line in ours if line.startswith(same)] == [line for line in theirs if line.startswith(same)]


def test_a_body_and_pages_that_are_not_there(web: Apache, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(b"a=1")
    ours, theirs = ours_and_abs(f"{web.url}nothere", "-n", "50", "-p", str(body), "-T", "text/plain")
    assert [shape(line) for line in ours] == [shape(line) for line in theirs]
    assert "Non-2xx responses:      50" in ours


def test_a_proxy_is_named(web: Apache, tmp_path: Path) -> None:
    options = ("-n", "20", "-X", f"127.0.0.1:{web.port}")  # a server is a proxy for its own pages
    ours, theirs = ours_and_abs(web.url, *options)
    assert [shape(line) for line in ours] == [shape(line) for line in theirs]
    (line,) = (line for line in theirs if line.startswith("Benchmarking"))
    assert line in ours
    assert f"[through 127.0.0.1:{web.port}]" in line
    recording = tmp_path / "a.loadtop"
    lines_of("--headless", "-q", "--record", str(recording), *options, web.url)
    assert line in lines_of("report", "--ab", str(recording))


def test_the_columns_are_as_wide_as_abs(apache: ApacheFactory) -> None:
    server = apache(mpm="prefork", php="mod", pages={"slow.php": "<?php usleep(30000); echo 'x';"})
    ours, theirs = ours_and_abs(f"{server.url}slow.php", "-n", "40", "-c", "2")
    rows = ("Connect:", "Processing:", "Waiting:", "Total:", "  50%", "  99%", " 100%")
    for mine, other in zip(ours, theirs, strict=True):
        if mine.startswith(rows):
            assert len(mine) == len(other)


def test_percentiles_as_a_file(web: Apache, tmp_path: Path) -> None:
    file = tmp_path / "percentiles.csv"
    lines_of("-q", "--no-record", "-n", "100", "-e", str(file), web.url)
    lines = file.read_text().splitlines()
    assert lines[0] == "Percentage served,Time in ms"
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(101))
    values = [float(line.split(",")[1]) for line in lines[1:]]
    assert values == sorted(values)


def test_the_open_model_has_a_level_too(apache: ApacheFactory) -> None:
    server = apache(mpm="prefork", php="mod", workers=20, pages={"slow.php": "<?php usleep(50000); echo 'x';"})
    words = ("--headless", "-q", "--no-record", "--ab", "--rate", "100", "-n", "200")
    lines = lines_of(*words, f"{server.url}slow.php")
    (level,) = (int(line.split()[-1]) for line in lines if line.startswith("Concurrency Level:"))
    assert 3 <= level <= 30, "100 requests/s of 50 ms each are 5 at once"
