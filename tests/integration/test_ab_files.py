"""What -w, -g and -v give, beside what ab gives for the same load on the same server."""

import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.loads.program import LOADTOP, loadtop
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.program import find_program

GROWING = """<?php
$n = (int)file_get_contents(__DIR__ . '/n') + 1;
file_put_contents(__DIR__ . '/n', $n);
echo str_repeat('x', 1 + $n % 2);
"""
SECRET = "open-sesame"


def run(*command: str) -> list[str]:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().split("\n")


def both(url: str, *options: str) -> tuple[list[str], list[str]]:
    """What loadtop and ab print for these options."""
    ab = find_program("ab", install="apt-get install apache2-utils")
    ours = loadtop("--headless", "-q", "--no-record", *options, url)
    assert ours.returncode == 0, ours.stderr
    return ours.stdout.split("\n"), run(ab, "-q", *options, url)


def shape(lines: list[str]) -> list[str]:
    """The lines with every number replaced: digits and the blanks before them, which stand for one another."""
    return [re.sub(r" *\d+(\.\d+)?", lambda match: "#." if match[1] else "#", line) for line in lines]


def table(lines: list[str]) -> list[str]:
    """The HTML without its banner: whose program it is differs, of course."""
    return shape(lines[lines.index("..done") :])


@pytest.mark.parametrize(
    "options",
    [
        ["-w", "-n", "20"],
        ["-w", "-k", "-n", "20", "-c", "4"],
        ["-x", 'border="1"', "-n", "20"],
        ["-y", "align=left", "-z", "", "-n", "20", "-l"],
        ["-w", "-z", "class=b", "-n", "20", "-i"],
    ],
)
def test_the_table_has_the_rows_and_attributes_of_abs(web: Apache, options: list[str]) -> None:
    ours, theirs = both(web.url, *options)
    assert table(ours) == table(theirs)
    same = ("Server", "Document", "Concurrency", "Complete", "Failed", "Keep-Alive", "HTML")
    assert [line for line in ours if any(word in line for word in same)] == [
        line for line in theirs if any(word in line for word in same)
    ]


def test_the_table_of_a_load_that_fails(apache: ApacheFactory, tmp_path: Path) -> None:
    body = tmp_path / "body"
    body.write_bytes(b"a=1")
    server = apache(mpm="prefork", php="mod", pages={"growing.php": GROWING})
    (server.documents / "n").write_text("0")
    (server.documents / "n").chmod(0o666)
    ours, theirs = both(f"{server.url}growing.php", "-w", "-n", "10", "-p", str(body), "-T", "text/plain")
    assert table(ours) == table(theirs)
    assert "(Connect: 0, Length: 5, Exceptions: 0)" in "\n".join(ours)


def test_a_row_for_each_request_sorted_by_its_time(apache: ApacheFactory, tmp_path: Path) -> None:
    server = apache(mpm="prefork", php="mod", pages={"index.php": "<?php usleep(random_int(1000, 30000)); echo 'x';"})
    ab = find_program("ab", install="apt-get install apache2-utils")
    ours, theirs = tmp_path / "ours.tsv", tmp_path / "theirs.tsv"
    load = ["-n", "60", "-c", "3", "-g"]
    loadtop("-q", "--no-record", *load, str(ours), f"{server.url}index.php")
    run(ab, "-q", *load, str(theirs), f"{server.url}index.php")
    row = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}(\t\d+){5}")
    for file in (ours, theirs):
        header, *rows, end = file.read_text().split("\n")
        assert header == "starttime\tseconds\tctime\tdtime\tttime\twait"
        assert end == ""
        assert len(rows) == 60
        assert all(row.fullmatch(each) for each in rows)
        numbers = [[int(number) for number in each.split("\t")[1:]] for each in rows]
        totals = [total for _, _, _, total, _ in numbers]
        assert totals == sorted(totals)
        assert 1 <= totals[0] < totals[-1] < 5000
        assert all(abs(connect + processing - total) <= 1 for _, connect, processing, total, _ in numbers)
        assert all(waiting <= total for _, _, _, total, waiting in numbers)
        assert max(second for second, *_ in numbers) - min(second for second, *_ in numbers) < 60


@pytest.mark.parametrize("options", [["-k", "-c", "4"], ["--workers", "2", "-c", "4"], ["--rate", "500"]])
def test_rows_of_every_kind_of_load(web: Apache, tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "rows.tsv"
    loadtop("-q", "--no-record", "-n", "300", "-g", str(file), *options, web.url)
    assert len(file.read_text().splitlines()) == 301


@pytest.fixture(scope="module")
def hello(of_the_file: ExitStack) -> Apache:
    return ApacheFactory(of_the_file, FpmFactory(of_the_file))(pages={"index.html": "hello\n", "moved/index.html": ""})


@pytest.mark.parametrize("level", ["0", "1", "2", "3", "4"])
@pytest.mark.parametrize("page", ["index.html", "nothing", "moved"])
def test_reports_on_requests_and_responses(hello: Apache, level: str, page: str) -> None:
    ours, theirs = both_told(hello.url + page, level)
    assert ours == theirs
    assert ours.count("LOG: header received:") == (3 if int(level) >= 2 else 0)


def both_told(url: str, level: str) -> tuple[list[str], list[str]]:
    """What both print before their reports, without the headers of requests and responses, and HTTP's version."""
    ab = find_program("ab", install="apt-get install apache2-utils")
    ours = run(*LOADTOP, "-q", "--no-record", "--ab", "-v", level, "-n", "3", url)
    theirs = run(ab, "-q", "-v", level, "-n", "3", url)
    told = "\n".join(ours).partition("This is loadtop")[0]
    tells = "\n".join(theirs).partition("(be patient)...")[2].partition("..done\n")[0]
    header = re.compile(r"(?!LOG|INFO|WARNING)[A-Z][A-Za-z-]+: .*\r\n")
    return header.sub("", told).split("\n"), header.sub("", tells).replace("HTTP/1.0", "HTTP/1.1").split("\n")


def test_no_secret_is_reported(web: Apache) -> None:
    secrets = ("-A", f"me:{SECRET}", "-C", f"session={SECRET}", "-H", f"Proxy-Authorization: {SECRET}")
    told = loadtop("-q", "--no-record", "-v", "4", "-n", "2", *secrets, web.url).stdout
    assert SECRET not in told
    assert "Authorization: ***" in told
    assert "Cookie: ***" in told
