"""A benchmark's servers end with it, however it ends."""

import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.loads.program import wait_until

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]
BENCHMARK = """
import sys, time
from benchmarks.load_servers import server
with server(sys.argv[1]) as url:
    print(url, flush=True)
    time.sleep(60)
"""


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 5):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("name", ["nginx", "apache"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_benchmark_leaves_no_server(name: str, number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", BENCHMARK, name]
    with subprocess.Popen(
        command, cwd=ROOT, env={"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as benchmark:
        assert benchmark.stdout is not None
        said: str = benchmark.stdout.readline()
        port = urlsplit(said.strip()).port
        assert port is not None
        assert _listens(port)
        benchmark.send_signal(number)
        assert benchmark.wait(20) != 0
    assert wait_until(lambda: not _listens(port)), "its server still listens"
    if number != signal.SIGKILL:
        assert not list(tmp_path.iterdir())
