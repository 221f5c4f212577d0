"""A control group with little memory, and a swap file beside it. Needs root; both kinds of control groups will do."""

import contextlib
import errno
import os
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from msgspec import Struct

PREFIX = "loadtop-lab-"
CGROUPS = Path("/sys/fs/cgroup")


class MemoryGroup(Struct, frozen=True):
    """A control group of its own; ``launcher`` goes before a command that shall run in it."""

    directory: Path

    @property
    def launcher(self) -> list[str]:
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.directory)]

    def moved_kb(self) -> float:
        """What its processes have in swap, and a page for each time that one had to be read: a difference of two is the
        group's own swap traffic at least. The counters of the machine are no measure of that: some kernels page out
        idle memory by themselves, as soon as there is swap (DAMON)."""
        lines = (line.split() for line in (self.directory / "memory.stat").read_text().splitlines())
        stat = {words[0]: int(words[1]) for words in lines}
        current = self.directory / "memory.swap.current"  # version 2
        swapped = int(current.read_text()) if current.exists() else stat["swap"]
        return (swapped + stat["pgmajfault"] * os.sysconf("SC_PAGE_SIZE")) / 1024


@contextlib.contextmanager
def memory_group(limit_mb: int) -> Generator[MemoryGroup]:
    """A group whose processes have ``limit_mb`` of memory together, and swap beyond that. Gone afterwards."""
    first = (CGROUPS / "memory" / "memory.limit_in_bytes").exists()
    parent = CGROUPS / "memory" if first else CGROUPS
    directory = parent / f"{PREFIX}{os.getpid()}"
    try:
        if not first:
            (parent / "cgroup.subtree_control").write_text("+memory")
        _remove_groups_of_the_dead(parent)
        directory.mkdir()
    except OSError as error:
        pytest.fail(f"this test needs a memory control group below {parent}, but: {error}", pytrace=False)
    try:
        limit = directory / ("memory.limit_in_bytes" if first else "memory.max")
        limit.write_text(str(limit_mb * 1024 * 1024))
        yield MemoryGroup(directory)
    finally:
        remove_group(directory)


def remove_group(directory: Path) -> None:
    """The kernel lets go of a group a moment after its last process has ended."""
    for _ in range(100):
        try:
            directory.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.05)
        else:
            return
    directory.rmdir()


def _remove_groups_of_the_dead(parent: Path) -> None:
    """A test run that was killed could not tidy up: its groups are empty now, and the next run removes them."""
    for directory in parent.glob(f"{PREFIX}*"):
        if not Path("/proc", directory.name.removeprefix(PREFIX)).exists():
            with contextlib.suppress(OSError):
                directory.rmdir()


@contextlib.contextmanager
def swap_file(size_mb: int) -> Generator[None]:
    """Swap on a disk file, through a loop device where the file system itself cannot carry swap (overlays)."""
    with tempfile.NamedTemporaryFile(prefix=PREFIX, dir=on_a_disk()) as file, contextlib.ExitStack() as tidy:
        os.posix_fallocate(file.fileno(), 0, size_mb * 1024 * 1024)
        os.fsync(file.fileno())
        device = file.name
        _run("mkswap", device)
        if subprocess.run(["swapon", device], capture_output=True).returncode:
            device = _run("losetup", "--find", "--show", file.name).strip()
            tidy.callback(_run, "losetup", "--detach", device)
            _run("swapon", device)
        tidy.callback(_run, "swapoff", device)
        yield


def on_a_disk() -> Path:
    """A directory for large files that is not itself in memory."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    for directory in (Path("/var/tmp"), Path(tempfile.gettempdir()), Path.cwd()):  # noqa: S108 - a named file in it
        inside = [(len(point), kind) for point, kind in mounts if directory.is_relative_to(point)]
        if max(inside)[1] not in ("tmpfs", "ramfs"):
            return directory
    pytest.fail("this test needs 512 MB on a disk, in /var/tmp or here", pytrace=False)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"this test needs swap, but {' '.join(command)}: {done.stderr.strip()}", pytrace=False)
    return done.stdout
