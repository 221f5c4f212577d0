"""Reports of a real test: while it ends, and again from its recording."""

import csv
import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import Session
from tests.loads.program import loadtop
from tests.servers.apache import Apache
from tests.servers.program import find_program


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def recording(folder: Path, web: Apache) -> Path:
    """One real test in steps, with its page beside it."""
    path = folder / "real.loadtop"
    done = loadtop(
        "--headless", "-q", "--steps", "1,2", "--step-time", "1", "--record", str(path), "--html",
        str(folder / "live.html"), "--interval", "0.25", web.url,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def test_page_of_the_live_test_is_that_of_its_recording(recording: Path, folder: Path) -> None:
    again = folder / "again.html"
    done = loadtop("report", str(recording), "--html", str(again))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert again.read_text() == (folder / "live.html").read_text()


def test_markdown_has_the_steps(recording: Path) -> None:
    done = loadtop("report", str(recording), "--markdown")
    assert done.returncode == 0, done.stderr
    assert "## Steps" in done.stdout
    assert re.search(r"^\| 2 \| \d", done.stdout, re.MULTILINE)


def test_text_is_printed_by_default(recording: Path) -> None:
    assert "Percentiles in ms" in loadtop("report", str(recording)).stdout


def test_json_on_standard_output_is_alone_there(recording: Path) -> None:
    done = loadtop("report", str(recording), "--json", "-", "--text")
    assert json.loads(done.stdout)["schema"] == "loadtop.summary/1"
    assert "Percentiles in ms" in done.stderr


def test_page_that_cannot_be_written_is_reported_before_the_load(folder: Path) -> None:
    page = str(folder / "missing" / "page.html")
    done = loadtop("--headless", "--no-record", "--html", page, "-n", "1", "http://127.0.0.1:9/")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert page in done.stderr


def test_exports_contain_the_recorded_values(recording: Path, folder: Path) -> None:
    done = loadtop(
        "export", str(recording), "--csv", str(folder / "csv"), "--jsonl", str(folder / "rows.jsonl"),
        "--cast", str(folder / "film.cast"), "--size", "80x24", "--sqlite", str(folder / "tables.db"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Session(recording) as session:
        hosts = [host for snapshot in snapshots(session.frames()) for host in snapshot.measured.hosts]
    idle = [None if host.rates is None or host.rates.cpu is None else host.rates.cpu.idle for host in hosts]
    assert any(share is not None for share in idle)
    with closing(sqlite3.connect(folder / "tables.db")) as database:
        assert [cell for (cell,) in database.execute("SELECT cpu_idle FROM host")] == idle
    with (folder / "csv" / "host.csv").open(newline="") as file:
        assert [float(row["cpu_idle"]) if row["cpu_idle"] else None for row in csv.DictReader(file)] == idle
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    assert [row["cpu_idle"] for row in rows if row["table"] == "host"] == idle
    first = json.loads((folder / "film.cast").read_text().splitlines()[0])
    assert (first["version"], first["width"], first["height"]) == (2, 80, 24)


def test_film_is_played_by_asciinema(recording: Path, folder: Path) -> None:
    film = folder / "played.cast"
    done = loadtop("export", str(recording), "--cast", str(film), "--size", "80x24")
    assert done.returncode == 0, done.stderr
    player = find_program("asciinema", install="apt-get install asciinema")
    played = subprocess.run(
        [player, "play", "--speed", "500", "--idle-time-limit", "0.1", str(film)],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=30, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert played.returncode == 0, played.stderr
    events = [json.loads(line) for line in film.read_text().splitlines()[1:]]
    assert played.stdout.decode() == "".join(text for _, kind, text in events if kind == "o")
    assert b"req/s" in played.stdout


def test_sar_has_the_columns_of_sar(recording: Path) -> None:
    sar = find_program("sar", install="apt-get install sysstat")
    command = [sar, "-u", "-P", "ALL", "-S", "-W", "-q", "-n", "DEV", "1", "1"]
    environment = {**os.environ, "LC_ALL": "C"}
    theirs = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment).stdout
    ours = loadtop("export", str(recording), "--sar").stdout
    heads = re.compile(r"^\d\d:\d\d:\d\d(.*(?:%user|pswpin|kbswpfree|runq|IFACE).*)$", re.MULTILINE)
    assert list(dict.fromkeys(heads.findall(ours))) == list(dict.fromkeys(heads.findall(theirs)))


def test_export_needs_a_format(recording: Path, folder: Path) -> None:
    film = str(folder / "missing" / "film.cast")
    for words in ([], ["--sar", "--host", "nobody"], ["--cast", film, "--size", "9x9"]):
        done = loadtop("export", str(recording), *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    for words in (["--cast", film], ["--cast", "/dev/full"], ["--jsonl", "/dev/full"], ["--sqlite", film]):
        done = loadtop("export", str(recording), *words)
        assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
        assert words[1] in done.stderr
