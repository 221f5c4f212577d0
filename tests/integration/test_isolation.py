"""What tests can reach: directories of their own and the loopback network, nothing else of this machine."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS_ROOT = "this test makes namespaces: it needs root on Linux"
PROBE = """
import errno, json, os, pathlib, socket, sys

def outcome(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]

def connect(address):
    with socket.create_server(("127.0.0.1", 9)), socket.create_connection((address, 9), 5):
        pass

found = {place: outcome((pathlib.Path(place) / "probe").touch) for place in sys.argv[1:]}
found |= {address: outcome(lambda: connect(address)) for address in ("127.0.0.1", "192.0.2.1")}
print(json.dumps(found | {"processes": sum(name.isdecimal() for name in os.listdir("/proc"))}))
"""


def test_a_worker_can_write_nowhere_but_into_the_directory_of_the_run(tmp_path: Path) -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.fail(NEEDS_ROOT, pytrace=False)
    mine = tmp_path / "mine"
    mine.mkdir()
    places = (str(mine), "/run", str(tmp_path), str(ROOT), "/var/lib", str(Path("~root").expanduser()))
    done = subprocess.run(
        [ROOT / "scripts" / "isolated_python", "-c", PROBE, *places],
        capture_output=True, text=True, timeout=60, env={**os.environ, "TMPDIR": str(mine)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        **dict.fromkeys(places, "EROFS"),
        str(mine): None,
        "/run": None,
        "127.0.0.1": None,
        "192.0.2.1": "ENETUNREACH",
        "processes": 2,  # the shell that started it, and the program
    }


@pytest.mark.parametrize("variable", ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_each_test_has_private_directories(variable: str, seen: set[str]) -> None:
    place = Path(os.environ[variable])
    assert list(place.iterdir()) == []
    assert Path(tempfile.gettempdir()) == Path(os.environ["TMPDIR"])
    assert str(place.parent) not in seen
    seen.add(str(place.parent))
    (place / "left").touch()


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """Directories of earlier tests."""
    return set()
