"""What verbs say that are asked for something of a recording which it has not, or which contradicts itself."""

from pathlib import Path

import pytest

from loadtop.cli import main
from tests.unit.recording.made import alter, moments, record, with_frame


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["report", "--text", "--ab", "none"], 2, "conflicts with"),
        (["report", "--html", "-", "none"], 2, "must be the name of a file"),
        (["export", "--cast", "-", "none"], 2, "must be the name of a file"),
        (["export", "--sar", "--jsonl", "-", "none"], 2, "both write to standard output"),
        (["report", "none"], 4, "none: no such file (loadtop sessions list shows the recordings)"),
        (["report", "/dev/null"], 4, "not a recording of loadtop"),
        (["replay", "a" * 300], 4, "File name too long"),
        (["export", "--sar", "/"], 4, "this is a directory"),
        (["sessions", "rename", "a" * 300, "b"], 4, "File name too long"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], code: int, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert part in line
    assert not said.out
    assert not list(tmp_path.iterdir())


def test_without_a_load_ab_has_nothing_to_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "watched.loadtop"
    record(path, [with_frame(snapshot, load=None) for snapshot in moments(3)])
    assert main(["report", str(path), "--ab"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no load to report" in line
    assert main(["report", str(path)]) == 0


def test_a_recording_of_which_nothing_can_be_read_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "damaged.loadtop"
    record(path, moments(3))
    alter(path, "UPDATE block SET crc = crc + 1")
    film = str(tmp_path / "film.cast")
    for words in (
        ["report", str(path)],
        ["replay", str(path), "--headless"],
        ["compare", str(path), str(path)],
        ["export", str(path), "--sar"],
        ["export", str(path), "--cast", film],
        ["export", str(path), "--sqlite", str(tmp_path / "tables.db")],
    ):
        assert main(words) == 4
        said = capsys.readouterr()
        (line,) = said.err.splitlines()
        assert "none of its intervals can be read" in line
        assert not said.out
    assert [each.name for each in tmp_path.iterdir()] == ["damaged.loadtop"]
