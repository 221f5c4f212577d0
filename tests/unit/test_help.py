"""``loadtop help``: the texts of the docs, and one line for what there is no help on."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from loadtop.cli import main
from loadtop.cli.options.table import TOPICS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("topic", "most"), [*((topic, 100) for topic in TOPICS), ("ab", 60)])
def test_a_topic_is_a_page_of_the_docs_as_text(topic: str, most: int, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(most if most < 100 else 300))
    assert main(["help", topic]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= most
    assert not re.search(r"^#|[*][*]|[]][(]|^[|]", shown, re.MULTILINE)
    headings = re.findall("^#+ (.+)$", (ROOT / "docs" / f"{topic}.md").read_text(), re.MULTILINE)
    assert [heading for heading in headings if heading not in shown] == []


def test_every_text_is_a_topic() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    texts = [Path(name) for name in wheel["only-include"] if name.endswith(".md")]
    assert {text.stem for text in texts} == set(TOPICS)
    assert {wheel["sources"][str(text.parent)] for text in texts} == {"loadtop/cli/manual"}


@pytest.mark.parametrize("words", [["help"], ["help", "help"]])
def test_without_a_topic_there_is_a_list(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(f"loadtop help {topic}" in out for topic in TOPICS)
    assert "loadtop watch" in out


@pytest.mark.parametrize("command", ["watch", "help"])
def test_a_command_shows_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    shown = capsys.readouterr().out
    assert "--lang" in shown
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("words", [["help", "wrk"], ["help", "ab", "generator"]])
def test_an_unknown_topic_is_reported_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert not said.out
    (line,) = said.err.splitlines()
    assert "ab" in line
    assert "generator" in line


@pytest.mark.parametrize(
    ("word", "meant"), [("sesions", "sessions"), ("wacth", "watch"), ("experiments", "experiment")]
)
def test_a_misspelt_command_is_not_a_host(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"did you mean loadtop {meant}?" in line
    assert f"http://{word}/" in line


@pytest.mark.parametrize("verb", ["replay", "doctor", "watch", "export"])
def test_a_mistake_names_the_help_of_its_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--no-such-option"]) == 2
    assert f"(see loadtop {verb} --help)" in capsys.readouterr().err
