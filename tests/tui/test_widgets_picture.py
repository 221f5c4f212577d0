"""Screens as files."""

import xml.etree.ElementTree as ET
from pathlib import Path

from rich.segment import Segment
from textual.strip import Strip

from tui.drawing.appearance import TERMINAL
from tui.drawing.line import Role, Span, line
from tui.widgets.picture import file_name, svg, write_new


def test_a_picture_is_xml_with_its_text() -> None:
    lines = [
        line(Span("<b>&", Role.BAD), " 漢字 ", Span("█▓▒░▄", Role.USER), Span("⣿⡇", Role.GRAPH)),
        line(Span("╭─┬╮│├┼", Role.FRAME), Span("━╍┅┉", Role.SYSTEM), Span(" SWAP ", Role.BAD_BADGE)),
    ]
    strips = [Strip([Segment(" "), *(Segment(text, TERMINAL[role]) for text, role in spans)]) for spans in lines]
    text = svg(strips, TERMINAL[Role.TEXT], "a <title>")
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    assert [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")] == ["<b>&", "漢", "字", "SWAP"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 5


def test_pictures_are_named_after_their_content() -> None:
    name = file_name("http://web1:8080/a b/../index.php?x=1", 0.0)
    assert name.name.startswith("loadtop-web1-8080-a-b-..-index.php-x-1-")
    assert name.suffix == ".svg"
    assert name.parent == Path()
    assert file_name("///").name.startswith("loadtop-screen-")


def test_a_picture_replaces_no_file_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "a.b.svg").symlink_to(tmp_path / "elsewhere")
    names = [write_new(tmp_path / "a.b.svg", text).name for text in ("first", "second")]
    assert names == ["a.b-2.svg", "a.b-3.svg"]
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in names] == ["first", "second"]
    assert not (tmp_path / "elsewhere").exists()
