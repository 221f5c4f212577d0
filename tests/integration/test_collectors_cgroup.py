"""A real Apache in a real control group with a quota and a memory limit (version 1 or 2, as this machine has it)."""

import asyncio
import os
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from collectors.linux.cgroup import Mount, parse_mounts
from loadtop.model import HostSample
from tests.loads.program import wait_until
from tests.servers.apache import ApacheFactory
from tests.servers.watched import Watch, until

BUSY = "#!/bin/sh\necho 'Content-Type: text/plain'\necho\ni=0\nwhile [ $i -lt 100000 ]; do i=$((i+1)); done\n"
NAME = f"loadtop-test-{uuid4().hex[:8]}"  # process ids are those of a namespace
NEEDS_ROOT = "this test makes control groups: it needs root on Linux, with the cpu controller in /sys/fs/cgroup"


def _groups(mounts: tuple[Mount, ...]) -> dict[str, Path]:
    """Where this machine keeps the groups of each controller."""
    found: dict[str, Path] = {}
    for mount in mounts:
        for name in ("cpu", "memory"):
            top = Path(mount.point)
            if "" in mount.controllers:
                has = name in (top / "cgroup.subtree_control").read_text().split()
            else:
                has = name in mount.controllers
            if has:
                found[name] = top / NAME
    return found


@pytest.fixture
def group() -> Iterator[list[Path]]:
    """A group with a tenth of a core and 200 MB; gone afterwards."""
    mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    groups = _groups(mounts)
    if os.geteuid() != 0 or "cpu" not in groups or "memory" not in groups:
        pytest.fail(NEEDS_ROOT, pytrace=False)
    made = sorted(set(groups.values()))
    for directory in made:
        directory.mkdir()
    if (groups["cpu"] / "cpu.max").exists():
        (groups["cpu"] / "cpu.max").write_text("10000 100000")
    else:
        (groups["cpu"] / "cpu.cfs_period_us").write_text("100000")
        (groups["cpu"] / "cpu.cfs_quota_us").write_text("10000")
    limit = groups["memory"] / "memory.max"
    (limit if limit.exists() else groups["memory"] / "memory.limit_in_bytes").write_text(str(200 << 20))
    yield made
    for directory in made:
        assert wait_until(partial(_removed, directory)), f"a process is still in {directory}"


def _removed(directory: Path) -> bool:
    """Whether the group could be removed: its last process is gone."""
    try:
        directory.rmdir()
    except OSError:
        return False
    return True


@pytest.mark.lab
@pytest.mark.servers
async def test_the_limits_of_the_web_server(group: list[Path], apache: ApacheFactory, watch: Watch) -> None:
    apache(mpm="event", workers=4)  # found first, and in no group with limits
    enter = "".join(f"echo $$ > {directory}/cgroup.procs; " for directory in group)
    launcher = ["/bin/sh", "-c", f'{enter}exec "$@"', "enter"]
    server = apache(mpm="prefork", workers=4, pages={"b.cgi": BUSY}, launcher=launcher)
    host = await watch(role="target", target_urls=[server.url])
    before = await until(host, lambda sample: sample.cgroup is not None and sample.cgroup.path == f"/{NAME}")
    throttled_us = 0 if before.cgroup is None else before.cgroup.throttled_us or 0

    def is_throttled(sample: HostSample) -> bool:
        return sample.cgroup is not None and (sample.cgroup.throttled_us or 0) - throttled_us > 100_000

    page = threading.Thread(target=_get, args=(f"{server.url}b.cgi",))
    page.start()
    after = await until(host, is_throttled)
    await asyncio.to_thread(page.join)
    assert before.cgroup is not None
    assert after.cgroup is not None
    assert (after.cgroup.cpu_quota_us, after.cgroup.cpu_period_us) == (10000, 100000)
    assert after.cgroup.memory_limit_kb == 200 << 10
    assert after.cgroup.memory_used_kb is not None
    assert 0 < after.cgroup.memory_used_kb < 200 << 10
    assert after.cgroup.memory_failures == 0
    assert None not in (before.cgroup.throttled_us, after.cgroup.throttled_us)
    assert (after.cgroup.throttled_periods or 0) > (before.cgroup.throttled_periods or 0)


def _get(url: str) -> None:
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()
