"""What other users see of a running test in ``ps`` has no secret in it, and what they are told is in their encoding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loads.engines import LOCUST, mark_processes, require_locust
from tests.loads.processes import mark_environment, marked
from tests.loads.program import wait_until
from tests.servers.apache import ApacheFactory

SECRETS = ("hunter2", "s3ss10n", "k3y", "t0k3n", "pr0xy")
WORDS = (
    *("-A", "me:hunter2", "-C", "sid=s3ss10n", "-H", "X-Api-Key: k3y", "-H", "Authorization-Token: t0k3n"),
    *("--headless", "-q", "--no-record"),
)


def command_lines(mark: str) -> list[str]:
    found: list[str] = []
    for pid in marked(mark):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("engine", ["builtin", pytest.param("locust", marks=pytest.mark.locust)])
def test_no_process_shows_a_secret(
    apache: ApacheFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    server = apache(pages={"index.html": "x"}, workers=8)
    if engine == "locust":
        require_locust()
        mark = mark_processes(monkeypatch, tmp_path, LOCUST)
        words = ["--engine", "locust"]
    else:
        mark = mark_environment(monkeypatch)
        words = ["-X", server.url.removeprefix("http://").rstrip("/"), "-P", "me:pr0xy"]
    command = [sys.executable, "-m", "loadtop", *WORDS, *words, "-t", "60", "-c", "2", server.url]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as program:
        try:
            assert wait_until(lambda: server.access_log.read_text().count("/ HTTP/") > 50, 40)
            lines = command_lines(mark)
            assert any("loadtop\0-A\0***\0" in line for line in lines), lines
            assert not [line for line in lines if any(secret in line for secret in SECRETS)]
        finally:
            program.terminate()
            program.wait(30)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_report_in_a_locale_without_all_characters(apache: ApacheFactory, tmp_path: Path, encoding: str) -> None:
    server = apache(pages={"index.html": "x"}, workers=8)
    record = tmp_path / "run.loadtop"
    environment = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX", "TMPDIR") if name in os.environ}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONIOENCODING": encoding}
    for words in (
        ["-n", "20", "-c", "2", "--lang", "ja", "--record", str(record), server.url],
        ["report", "--lang", "ja", str(record)],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "loadtop", *words],
            stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=60, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"20" in done.stdout
