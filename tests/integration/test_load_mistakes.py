"""An exception anywhere in loadtop's own code ends the load, says so, and has an exit code; so do texts too long."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loads.scripted import scripted
from tests.servers.nginx import NginxFactory

FAULTS = {
    "connecting": "loadtop.generator.connector.Connector.connect",
    "closing": "loadtop.generator.connections.Connections._closed",
    "late requests": "loadtop.generator.connections.Connections.overdue",
    "sample of the worker": "loadtop.generator.results.Results.take",
    "reports": "loadtop.generator.pool.WorkerProcess.add",
    "coordination": "loadtop.generator.pool.LoadPool._reports",
    "heartbeats": "loadtop.generator.pool.WorkerProcess.send_heartbeat",
}
"""Where a fault is injected: functions of workers, and of the process that they report to."""

INJECTION = """
import importlib

def broken(*args, **options):
    raise RuntimeError("injected")

place = {place!r}
parts = place.split(".")
setattr(getattr(importlib.import_module(".".join(parts[:-2])), parts[-2]), parts[-1], broken)
"""


@pytest.mark.parametrize("place", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_a_failed_load(
    nginx: NginxFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    server = nginx(pages={"index.html": "x"})
    (tmp_path / "sitecustomize.py").write_text(INJECTION.format(place=place))
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{root}")
    words = ["-t", "80", "-c", "2", "-s", "1", "--headless", "--no-record", server.url]
    done = subprocess.run(
        [sys.executable, "-m", "loadtop", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3, done.stderr
    assert "RuntimeError: injected (sitecustomize.py:" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
async def test_v_with_bodies_of_other_encodings_ends(tmp_path: Path, encoding: str) -> None:
    body = b"\xe9" * 60_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    script = 'PYTHONIOENCODING=$1 exec "$2" -m loadtop -v 2 -n 1500 -c 8 -k -q --no-record "$3" > "$4"'
    async with scripted(answer) as server:
        out = tmp_path / "out"
        words = ["sh", "-c", script, "sh", encoding, sys.executable, server.url, str(out)]
        process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL)
        try:
            assert await asyncio.wait_for(process.wait(), 60) == 0
        finally:
            if process.returncode is None:
                process.kill()
        assert sum(head.startswith(b"GET / ") for head in server.heads) == 1500
    assert "LOG: header received:" in out.read_text(encoding="latin-1")


async def test_headers_of_40_kb_cost_no_time(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\nServer: %b\r\nContent-Length: 2\r\n\r\nok" % (b"a=//@" * 8000)
    async with scripted(answer) as server:
        record = tmp_path / "run.loadtop"
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "loadtop", "-n", "20", "-q", "--record", str(record), server.url],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    assert max(map(len, out.decode().splitlines())) < 1000
    assert record.stat().st_size < 200_000
