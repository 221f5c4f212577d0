"""Who may import whom, held twice: by import-linter on the source, and by a fresh interpreter for each module."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROBE = """
import importlib, json, sys, threading
importlib.import_module(sys.argv[1])
print(json.dumps([sorted(sys.modules), threading.active_count()]))
"""
SCREEN = ("textual", "rich", "tui")
SLOW = ("numpy", "aiohttp", "uvloop", "httptools", "psutil", "multiprocessing")
"""What the first painted screen does not need is not imported by what it needs."""


def _modules() -> list[str]:
    files = [path for top in ("loadtop", "collectors", "tui") for path in sorted((ROOT / top).rglob("*.py"))]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def _forbidden(module: str) -> tuple[str, ...]:
    """What must not be loaded once ``module`` is."""
    if module.startswith("tui"):
        return ("collectors", "loadtop.cli", "loadtop.cli.demo")
    if module.startswith("collectors"):
        core = ("load", "diagnosis", "session", "monitor", "rates", "metrics", "cli", "demo", "summary")
        return (*SCREEN, *(f"loadtop.{part}" for part in core))
    return (*SCREEN, "collectors")


def _loaded(module: str) -> tuple[set[str], int]:
    """Every module that importing this one loads into a fresh interpreter, and how many threads run then."""
    command = [sys.executable, "-W", "error", "-c", PROBE, module]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded, threads = json.loads(done.stdout)
    return set(loaded), threads


def _among(loaded: set[str], packages: tuple[str, ...]) -> set[str]:
    return {name for name in loaded if any(name == package or name.startswith(f"{package}.") for package in packages)}


@pytest.mark.parametrize("module", _modules())
def test_a_fresh_interpreter_loads_nothing_forbidden(module: str) -> None:
    loaded, threads = _loaded(module)
    assert _among(loaded, _forbidden(module)) == set()
    assert threads == 1, "importing starts nothing"


@pytest.mark.parametrize(
    "module",
    [
        "loadtop.cli",
        "tui.apps.cockpit",
        "loadtop.pipeline.monitor",
        "loadtop.generator.plan",
        "loadtop.cli.demo.server",
    ],
)
def test_start_up_loads_nothing_slow(module: str) -> None:
    slow = SLOW if module.startswith("tui") else (*SLOW, "textual", "rich")
    assert _among(_loaded(module)[0], slow) == set()


def test_import_linter_agrees() -> None:
    lint_imports = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert lint_imports is not None
    done = subprocess.run([lint_imports], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
