"""The moving picture that is made of a recording of asciinema."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

from screenshots.film import write_film


def test_each_row_is_there_once_and_the_last_frame_stays_where_nothing_moves(tmp_path: Path) -> None:
    screens = ["\x1b[H\x1b[1;31mone <&>\x1b[0m\r\nsame", "\x1b[H\x1b[2Ktwo", "\x1b[H\x1b[2Kthree"]
    events = [[5.0 * i, "o", text] for i, text in enumerate(screens)]
    lines = [{"version": 2, "width": 20, "height": 3}, *events, [20.0, "o", "\x1b[?25h"]]
    cast, picture = tmp_path / "film.cast", tmp_path / "film.svg"
    cast.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    write_film(cast, picture)
    text = picture.read_text(encoding="utf-8")
    words = [element.text for element in ET.fromstring(text).iter() if element.tag.endswith("text")]  # noqa: S314
    assert words == ["one", "<&>", "two", "three", "same"]
    (hidden,) = re.findall(r"^(\S+) \{ visibility: hidden \}$", text, re.MULTILINE)
    assert hidden == ".f0-1,.f1-2"
    assert text.count("@keyframes") == 3
