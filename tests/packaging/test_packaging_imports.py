"""What importing loads, in an interpreter of its own: nothing that a package must not know, nothing slow before the
first screen, no thread. What the source may import is import-linter's matter (`make contracts`)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROBE = """
import importlib, json, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([sorted(sys.modules), threading.active_count()]))
"""
SCREEN = ("textual", "rich", "tui")
CORE = ("generator", "diagnosis", "recording", "pipeline", "rates", "analysis", "reports", "cli")
FORBIDDEN = {
    "loadtop": (*SCREEN, "collectors"),
    "collectors": (*SCREEN, *(f"loadtop.{room}" for room in CORE)),
    "tui": ("collectors", "loadtop.cli"),
}
"""What must not be loaded once every module of a package is."""
SLOW = ("numpy", "aiohttp", "uvloop", "httptools", "psutil", "multiprocessing")
"""What the first painted screen does not need is not imported by what it needs."""


def _modules(top: str) -> list[str]:
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / top).rglob("*.py"))]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def _loaded(*modules: str) -> tuple[set[str], int]:
    """What importing these loads into a fresh interpreter, and the number of threads that run then."""
    command = [sys.executable, "-W", "error", "-c", PROBE, *modules]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded, threads = json.loads(done.stdout)
    return set(loaded), threads


def _among(loaded: set[str], packages: tuple[str, ...]) -> set[str]:
    return {name for name in loaded if any(name == package or name.startswith(f"{package}.") for package in packages)}


@pytest.mark.parametrize("top", FORBIDDEN)
def test_importing_a_whole_package_loads_nothing_forbidden(top: str) -> None:
    loaded, threads = _loaded(*_modules(top))
    assert _among(loaded, FORBIDDEN[top]) == set()
    assert threads == 1, "importing starts nothing"


@pytest.mark.parametrize(
    ("modules", "slow"),
    [
        (
            ("loadtop.cli", "loadtop.pipeline.monitor", "loadtop.generator.plan", "loadtop.cli.demo.server"),
            (*SLOW, "textual", "rich"),
        ),
        (("loadtop.generator.pool", "loadtop.model.histogram"), ("numpy", "aiohttp", "uvloop", "httptools")),
        (("tui.apps.cockpit",), SLOW),
    ],
    ids=["command line", "load", "cockpit"],
)
def test_start_up_loads_nothing_slow(modules: tuple[str, ...], slow: tuple[str, ...]) -> None:
    assert _among(_loaded(*modules)[0], slow) == set()
