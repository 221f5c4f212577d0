"""A file system on a disk of few operations per second: a loop device whose backing file is throttled. Needs root;
both kinds of control groups will do."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.lab.memory import CGROUPS, PREFIX, on_a_disk, remove_group


class SlowDisk(Struct, frozen=True):
    """``directory`` is on it, ``launcher`` goes before what shall use it, ``name`` is the device's."""

    directory: Path
    launcher: list[str]
    name: str

    def busy_ms(self) -> float:
        """How long it has been busy, by the kernel's own count (Documentation/admin-guide/iostats.rst)."""
        rows = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
        return next(float(row[12]) for row in rows if row[2] == self.name)


class LimitedDisk(Struct, frozen=True):
    """``directory`` is on a disk of the machine, of which those that were started with ``launcher`` may have little."""

    directory: Path
    launcher: list[str]


@contextlib.contextmanager
def limited_disk(operations: int) -> Generator[LimitedDisk]:
    """A directory on the machine's own disk, and a control group for so many reads and writes a second."""
    with contextlib.ExitStack() as tidy:
        directory = Path(tidy.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX, dir=on_a_disk())))
        directory.chmod(0o777)
        yield LimitedDisk(directory, tidy.enter_context(_few_operations(operations, directory)))


@contextlib.contextmanager
def slow_disk(operations: int, size_mb: int = 64) -> Generator[SlowDisk]:
    """A disk that does ``operations`` reads and writes a second for those that were started with its launcher."""
    with contextlib.ExitStack() as tidy:
        file = tidy.enter_context(tempfile.NamedTemporaryFile(prefix=PREFIX, dir=on_a_disk()))
        os.posix_fallocate(file.fileno(), 0, size_mb << 20)
        os.fsync(file.fileno())
        device = _run("losetup", "--find", "--show", "--direct-io=on", file.name).strip()
        tidy.callback(_run, "losetup", "--detach", device)
        _run("mke2fs", "-q", "-F", "-t", "ext2", device)
        directory = Path(tidy.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX)))
        _run("mount", device, str(directory))
        tidy.callback(_run, "umount", str(directory))
        directory.chmod(0o777)
        launcher = tidy.enter_context(_few_operations(operations, Path(file.name)))
        yield SlowDisk(directory, launcher, Path(device).name)


@contextlib.contextmanager
def _few_operations(operations: int, file: Path) -> Generator[list[str]]:
    """What goes before a command that may do so many reads and writes a second on the disk of a file."""
    first = (CGROUPS / "blkio").exists()
    parent = CGROUPS / "blkio" if first else CGROUPS
    group = parent / f"{PREFIX}disk-{os.getpid()}"
    group.mkdir()
    try:
        under = file.stat().st_dev
        device = f"{os.major(under)}:{os.minor(under)}"
        if first:
            for kind in ("read", "write"):
                (group / f"blkio.throttle.{kind}_iops_device").write_text(f"{device} {operations}")
        else:
            (parent / "cgroup.subtree_control").write_text("+io")
            (group / "io.max").write_text(f"{device} riops={operations} wiops={operations}")
        yield ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    finally:
        remove_group(group)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"this test needs a loop device, but {' '.join(command)}: {done.stderr.strip()}", pytrace=False)
    return done.stdout
