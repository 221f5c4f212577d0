"""Where recordings are kept."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.recording.library import default_path
from loadtop.recording.state import directory

NOW = time.mktime((2026, 1, 31, 12, 0, 5, 0, 0, -1))


def test_the_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_path("web1", NOW) == tmp_path / "loadtop" / "2026-01-31-120005-web1.loadtop"


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_without_one_it_is_in_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert directory() == tmp_path / ".local" / "state" / "loadtop"


def test_without_a_home_it_is_in_the_current_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a container whose user has no entry in passwd."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 5)
    monkeypatch.chdir(tmp_path)
    assert directory() == tmp_path / ".local" / "state" / "loadtop"


def test_a_name_that_is_taken_gets_a_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = default_path("web1", NOW)
    first.parent.mkdir()
    first.touch()
    second = default_path("web1", NOW)
    second.symlink_to("nowhere")
    assert second.name == "2026-01-31-120005-web1-2.loadtop"
    assert default_path("web1", NOW).name == "2026-01-31-120005-web1-3.loadtop"


@given(host=st.text())
def test_any_host_makes_a_plain_file_name(host: str) -> None:
    path = default_path(host, NOW)
    assert path.parent == directory()
    assert path.name.isascii()
    assert path.name.isprintable()
    assert len(path.name) < 120
