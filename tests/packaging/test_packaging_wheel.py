"""The built wheel, in an environment that holds nothing but it and what it declares to need, run from elsewhere."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import loadtop
from loadtop.cli.options.completion import script
from loadtop.cli.options.man_pages import man_pages
from loadtop.cli.options.table import TOPICS

ROOT = Path(__file__).parents[2]
BODY = b"It works.\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(directory), str(ROOT)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(directory.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, as links, exactly the distributions that it and its needs declare."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory, symlinks=True, with_pip=False)
    site_packages = next((directory / "lib").glob("python*/site-packages"))
    for name in _needed_by("loadtop"):
        _link(importlib.metadata.distribution(name), site_packages)
    pip = [sys.executable, "-m", "pip", "--python", str(directory / "bin" / "python")]
    done = subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def server() -> Generator[ThreadingHTTPServer]:
    """A web server of this test's own; ``RequestHandlerClass.served`` counts its requests."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as web:
        Page.served = 0
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield web
        web.shutdown()
        thread.join()


class Page(BaseHTTPRequestHandler):
    served = 0

    def do_GET(self) -> None:
        if self.path == "/page":
            Page.served += 1
        self.send_response(200 if self.path == "/page" else 404)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def run(environment: Path, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed command in that directory, with nothing of this checkout in reach."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [environment / "bin" / "loadtop", *words],
        cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        env={**inherited, "HOME": str(directory), "XDG_STATE_HOME": str(directory / "state")},
    )  # fmt: skip


def _needed_by(name: str) -> set[str]:
    """The names of all distributions that this one needs, directly or not, on this machine without extras."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in importlib.metadata.requires(name) or []]
    while waiting:
        requirement = waiting.pop()
        extras = requirement.extras or {""}
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        if _normal(requirement.name) not in found:
            found.add(_normal(requirement.name))
            for text in importlib.metadata.requires(requirement.name) or []:
                inner = Requirement(text)
                if not inner.marker or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                    waiting.append(
                        Requirement(f"{inner.name}[{','.join(inner.extras)}]" if inner.extras else inner.name)
                    )
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _link(distribution: importlib.metadata.Distribution, site_packages: Path) -> None:
    for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
        (site_packages / top).symlink_to(Path(str(distribution.locate_file(top))))


def test_holds_the_three_packages_what_belongs_to_share_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "loadtop",
        "collectors",
        "tui",
        *(f"loadtop-{loadtop.__version__}.{end}" for end in ("data", "dist-info")),
    }
    assert {f"{package}/py.typed" for package in ("loadtop", "collectors", "tui")} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {
        "loadtop/engines/locust/locustfile.txt",
        "loadtop/engines/run_process.sh",
        "loadtop/engines/jmeter/jmeter.sh",
        "loadtop/analysis/experiment/remote_command.sh",
    } <= set(names)
    tracked = {
        str(path.relative_to(ROOT)) for top in ("loadtop", "collectors", "tui") for path in (ROOT / top).rglob("*.py")
    }
    assert tracked == {name for name in names if name.endswith(".py")}


def test_has_its_translations_compiled(wheel: Path, environment: Path, tmp_path: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "loadtop/i18n/locale/ja/LC_MESSAGES/loadtop.mo" in names
    assert not [name for name in names if name.endswith(".po")]
    assert "記録はまだありません" in run(environment, tmp_path, "--lang", "ja", "sessions").stdout


def test_needs_nothing_that_it_does_not_use() -> None:
    needs = [Requirement(text) for text in importlib.metadata.requires("loadtop") or []]
    declared = {_normal(need.name) for need in needs if "extra" not in str(need.marker)}
    source = "\n".join(
        path.read_text() for top in ("loadtop", "collectors", "tui") for path in (ROOT / top).rglob("*.py")
    )
    used = {name for name in declared if re.search(rf"^\s*(import|from) {name}\b", source, re.MULTILINE)}
    assert used == declared
    # The other engines are programs of their own, run where they are used.
    assert not re.search(r"^\s*(import|from) (locust|gevent)\b", source, re.MULTILINE)


def test_the_version_is_one(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"loadtop {loadtop.__version__}")
    assert importlib.metadata.version("loadtop") == loadtop.__version__


def test_help_shows_every_command(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "--help")
    assert done.returncode == 0
    assert all(f"loadtop {command}" in done.stdout for command in ("watch", "demo", "replay", "report", "sessions"))


def test_manual_pages_and_completion_are_where_programs_look_for_them(environment: Path) -> None:
    share = environment / "share"
    assert {page.name: page.read_text(encoding="utf-8") for page in (share / "man" / "man1").iterdir()} == man_pages()
    for shell, place in (
        ("bash", "bash-completion/completions/loadtop"),
        ("zsh", "zsh/site-functions/_loadtop"),
        ("fish", "fish/vendor_completions.d/loadtop.fish"),
    ):
        assert (share / place).read_text(encoding="utf-8") == script(shell)


def test_has_the_topics_of_help(wheel: Path, environment: Path, tmp_path: Path) -> None:
    files = zipfile.ZipFile(wheel)
    texts = {topic: (ROOT / "docs" / f"{topic}.md").read_text() for topic in TOPICS}
    assert {topic: files.read(f"loadtop/cli/manual/{topic}.md").decode() for topic in TOPICS} == texts
    (topic, *_) = TOPICS
    assert texts[topic].splitlines()[0].removeprefix("# ") in run(environment, tmp_path, "help", topic).stdout


def test_makes_a_load_from_another_directory(environment: Path, tmp_path: Path, server: ThreadingHTTPServer) -> None:
    url = f"http://127.0.0.1:{server.server_port}/page"
    done = run(environment, tmp_path, "--headless", "-n", "20", "-c", "2", "--json", "-", url)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["load"]["requests"] == 20
    assert summary["load"]["failed"] == 0
    assert Page.served >= 20
    assert list((tmp_path / "state").rglob("*.loadtop")) or list((tmp_path / "state").rglob("*.*")), "a recording"


def test_imports_the_installed_packages(environment: Path, tmp_path: Path) -> None:
    python = environment / "bin" / "python"
    code = "import loadtop, collectors, tui.apps.cockpit; print(loadtop.__file__, collectors.__file__, tui.__file__)"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(Path(file).is_relative_to(environment) for file in done.stdout.split())
