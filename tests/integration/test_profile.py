"""Where the CPU time of a busy process goes: near and through a shell, with profilers of our own making and without."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from collectors.linux.profile import parse
from collectors.transport.exec.transport import ExecTransport
from collectors.transport.local import LocalTransport
from loadtop.model import Profile
from tests.loads.program import wait_until

PERF = """#!/bin/sh
case $1 in record) shift; while [ "$1" != -- ]; do shift; done; shift; "$@"; exit ;; esac
printf 'busy one \\n\\t 1f2e write (/lib/libc.so.6)\\n\\t 2f10 [unknown] (/bin/a)\\n\\t 2f11 main;x (/bin/a)\\n\\n'
printf 'busy one \\n\\t ff00 [unknown] (/lib/libcrypto.so.3)\\n\\n'
printf 'swapper \\n\\t ff00 idle ([kernel.kallsyms])\\n\\n'
"""
PHPSPY = """#!/bin/sh
for end in '' '# - - -'; do printf '# uri = /x\\n0 md5 <internal>:-1\\n1 <main> /srv/a.php:3\\n%s\\n' "$end"; done
"""
PY_SPY = """#!/bin/sh
echo 'py-spy> Sampling process 99 times a second for 5 seconds.'
echo '<module> (a.py:9);work (a.py:3) 480'
echo 'py-spy> Wrote raw flamegraph data. Samples: 480 Errors: 0'
"""
FAILS = "#!/bin/sh\nexit 1\n"
AT_ONCE = PERF.replace('"$@"; exit', "exit")
ONLY_AS_ROOT = AT_ONCE.replace("case", '[ "$AS_ROOT" ] || exit 1\ncase', 1)
SUDO = """#!/bin/sh
printf '%s\\n' "$*" >>"$SUDO_LOG"
[ "$1" = -n ] && [ -z "$SUDO_PASSWORD" ] || exit 1
shift
AS_ROOT=yes exec "$@"
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of programs that are found first; perf fails."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    _install(tmp_path / "perf", FAILS)
    return tmp_path


def _install(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


@pytest.fixture
def busy() -> Iterator[int]:
    """A process that computes, whatever Python is called here."""
    program = "import ctypes\nctypes.CDLL(None).prctl(15, b'busy', 0, 0, 0)\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


async def _profile(*pids: int, far: bool) -> Profile:
    transport = ExecTransport("exec:sh") if far else LocalTransport()
    if isinstance(transport, ExecTransport):
        await transport.connect()
    try:
        return parse("web1", await transport.profile(pids))
    finally:
        await transport.close()


async def test_without_a_profiler_user_and_system_time(tools: Path, busy: int) -> None:  # noqa: ARG001
    for profile in await asyncio.gather(*(_profile(busy, os.getpid(), far=far) for far in (False, True))):
        assert profile.tool == "/proc"
        assert profile.stacks[0][0] == f"busy;{busy};user"
        assert profile.stacks[0][1] >= 20  # ticks of 10 ms in 5 s, also on a busy machine


async def test_perf(tools: Path) -> None:
    _install(tools / "perf", PERF)
    for profile in await asyncio.gather(*(_profile(os.getpid(), far=far) for far in (False, True))):
        assert profile.tool == "perf"
        assert set(profile.stacks) == {("busy one;main:x;write", 1), ("busy one;[libcrypto.so.3]", 1)}
    assert not any("perf" in (process.info["name"] or "") for process in psutil.process_iter(["name"]))


@pytest.mark.parametrize(
    ("name", "tool", "script", "stack"),
    [
        ("php-fpm8.2", "phpspy", PHPSPY, ("php-fpm8.2;<main> /srv/a.php:3;md5 <internal>:-1", 2)),
        ("python3", "py-spy", PY_SPY, ("python3;<module> (a.py:9);work (a.py:3)", 480)),
    ],
)
async def test_profilers_of_languages(tools: Path, name: str, tool: str, script: str, stack: tuple[str, int]) -> None:
    _install(tools / tool, script)
    (tools / name).symlink_to("/bin/sleep")
    process = await asyncio.create_subprocess_exec(tools / name, "60")
    profile = await _profile(process.pid, far=False)
    process.kill()
    await process.wait()
    assert (profile.tool, profile.stacks) == (tool, (stack,))


@pytest.mark.parametrize(
    ("perf", "password", "tool", "used_for"),
    [
        (AT_ONCE, "", "perf", []),
        (ONLY_AS_ROOT, "", "perf", ["-n nice perf record", "-n nice perf script", "-n true"]),
        (ONLY_AS_ROOT, "needed", "/proc", ["-n true"]),
    ],
    ids=["not needed", "without a password", "with a password"],
)
async def test_sudo_is_used_if_it_is_needed_and_asks_no_password(
    tools: Path, monkeypatch: pytest.MonkeyPatch, perf: str, password: str, tool: str, used_for: list[str]
) -> None:
    log = tools / "log"
    log.touch()
    monkeypatch.setenv("SUDO_LOG", str(log))
    monkeypatch.setenv("SUDO_PASSWORD", password)
    for name, script in (("perf", perf), ("sudo", SUDO), ("id", "#!/bin/sh\necho 1000\n")):
        _install(tools / name, script)
    profile = await _profile(os.getpid(), far=False)
    assert profile.tool == tool
    assert sorted(" ".join(call.split()[:4]) for call in log.read_text().splitlines()) == used_for


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
async def test_nothing_continues_when_it_is_broken_off(tools: Path, far: bool) -> None:
    _install(tools / "perf", PERF.replace("record)", f"record) touch {tools}/started;"))

    def running() -> bool:
        found = (process.info["cmdline"] or () for process in psutil.process_iter(["cmdline"]))
        return any(str(tools / "perf") in words for words in found)

    task = asyncio.create_task(_profile(far=far))
    assert await asyncio.to_thread(wait_until, (tools / "started").exists)
    assert running()
    task.cancel()
    await asyncio.wait({task})
    assert await asyncio.to_thread(wait_until, lambda: not running())
