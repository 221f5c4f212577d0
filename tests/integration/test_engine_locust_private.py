"""Locust's processes obey loadtop alone: no port of theirs takes orders or results from anyone else on the machine."""

import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.loads.engines import LOCUST, files_left, live_processes, mark_processes, require_locust
from tests.loads.program import started, summary_of, wait_until
from tests.servers.apache import Apache

pytestmark = pytest.mark.locust

INTRUDER = """
import sys

import zmq
from locust.rpc import protocol

client = zmq.Context().socket(zmq.DEALER)
client.setsockopt(zmq.IDENTITY, b"intruder")
client.setsockopt(zmq.LINGER, 0)
client.connect(f"tcp://127.0.0.1:{sys.argv[1]}")
client.send(protocol.Message("client_ready", "2.20.0", "intruder").serialize())
print("answered" if client.poll(3000) else "refused")
"""
"""A worker that does not know the key; an open master answers it at once and gives it users."""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    require_locust()
    return mark_processes(monkeypatch, tmp_path, LOCUST)


def listening_ports(pids: list[int]) -> list[int]:
    return [
        each.laddr.port
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.pid in pids and each.laddr
    ]


def says_nothing(port: int) -> bool:
    """Whether a port gives no page to a browser."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.settimeout(1)
        try:
            return not client.recv(65536).startswith(b"HTTP/")
        except OSError:
            return True


def test_ports_of_the_master_serve_only_its_pools(waiting: Apache, mark: str) -> None:
    url = f"{waiting.url}page.php"
    with started("--json", "-", "--engine", "locust", "-t", "90", "-c", "2", "--no-record", url) as program:
        assert wait_until(lambda: waiting.access_log.read_text().count("GET /page.php") > 5)
        (port,) = listening_ports(live_processes(mark, "bin/locust\0-f", "--master\0"))
        assert not listening_ports(live_processes(mark, "bin/locust\0-f", "--worker\0"))
        intruder = subprocess.run(
            [str(LOCUST / "python"), "-c", INTRUDER, str(port)], capture_output=True, text=True, timeout=60
        )
        assert intruder.stdout == "refused\n", intruder.stderr
        assert says_nothing(port)
        (directory,) = {each for each in files_left() if (each / "control").exists()}
        assert directory.stat().st_mode & 0o077 == 0
        program.send_signal(signal.SIGINT)
        out, errors = program.communicate(timeout=60)
    assert program.returncode == 130, errors
    load = summary_of(out)["load"]
    assert [worker["name"] for worker in load["workers"]] == ["local-1"]
    assert load["requests"] > 5
