"""What is opened on this machine: the kernel's files, and of all others only regular ones."""

import os
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from collectors.machine import NOT_REGULAR, Missing, Wanted
from collectors.parsing import MOST_LINES
from collectors.transport import files


def read(path: Path | str, limit: int = 1 << 18) -> str | Missing:
    return files.read(Wanted(str(path), limit, regular=True))


def test_a_regular_file_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text\n" * 10)
    (tmp_path / "link").symlink_to("a")
    assert read(tmp_path / "a") == "text\n" * 10
    assert read(tmp_path / "link", 7) == "text\nte"
    assert read(tmp_path / "none") == Missing("no such file")


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """Anyone who waits for a reader of it continues waiting."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        with pipe.open("wb"):
            opened.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    began = time.monotonic()
    while time.monotonic() < began + 0.3:
        assert read(pipe) == NOT_REGULAR
    assert not opened.is_set()
    with pipe.open("rb"):
        writer.join(10.0)
    assert opened.is_set()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty", "/dev"])
def test_devices_and_directories_are_not_opened(device: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(device)
    assert read(tmp_path / "link") == NOT_REGULAR


def test_a_socket_is_not_opened(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert read(tmp_path / "s") == NOT_REGULAR


def test_what_says_that_it_is_empty_is_not_read() -> None:
    """As ``/proc/kmsg``, which is a regular file and waits for the next message."""
    assert read("/proc/uptime") == ""
    assert files.read(Wanted("/proc/uptime")) != ""


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", tmp_path / "none"):
        read(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_directory_is_listed_up_to_its_limit(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}").touch()
    listed = files.read(Wanted(f"{tmp_path}/", 1000))
    assert isinstance(listed, str)
    assert 1000 < len(listed) < 1500
    assert len(listed.splitlines()) < MOST_LINES
    assert files.read(Wanted(f"{tmp_path}/000/")) == Missing("no such file")


def test_only_one_module_opens_files() -> None:
    top = Path(files.__file__).parents[1]
    opening = ("os.open(", ".open(", "read_text(", "read_bytes(")
    found = {
        str(path.relative_to(top))
        for path in top.rglob("*.py")
        if any(re.search(rf"(?<!self){re.escape(each)}", path.read_text()) for each in opening)
    }
    assert found == {
        "transport/files.py",
        "transport/network_of_process.py",  # to enter it
        "transport/shell/frames.py",  # our own scripts
        "transport/ssh/connection.py",  # /dev/tty, where ssh asks
    }
