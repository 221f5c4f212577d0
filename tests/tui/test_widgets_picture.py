"""Screens as files."""

import xml.etree.ElementTree as ET
from pathlib import Path

from tui.drawing.appearance import TERMINAL, Appearance
from tui.drawing.glyphs import UNICODE
from tui.drawing.line import Role, Span, line
from tui.drawing.svg import compose, svg
from tui.widgets.picture import file_name


def test_a_picture_is_xml_with_its_text() -> None:
    appearance = Appearance(TERMINAL, UNICODE)
    lines = [
        line(Span("<b>&", Role.BAD), " 漢字 ", Span("█▓▒░▄", Role.USER), Span("⣿⡇", Role.GRAPH)),
        line(Span("╭─┬╮│├┼", Role.FRAME), Span("━╍┅┉", Role.SYSTEM), Span(" SWAP ", Role.BAD_BADGE)),
    ]
    text = svg(compose([(1, 0, lines)], 30, 2), appearance, "a <title>")
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    found = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert found == ["<b>&", "漢", "字", "SWAP"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 5


def test_pictures_are_named_after_what_they_show() -> None:
    name = file_name("http://web1:8080/a b/../index.php?x=1", 0.0)
    assert name.name.startswith("loadtop-web1-8080-a-b-..-index.php-x-1-")
    assert name.suffix == ".svg"
    assert name.parent == Path()
    assert file_name("///").name.startswith("loadtop-screen-")
