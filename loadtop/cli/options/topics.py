"""The topics of ``loadtop help``: pages of ``docs``, laid out for a terminal."""

import re
import shutil
from pathlib import Path

MOST_CELLS = 100  # columns; longer lines are hard to read
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")  # to another page or heading
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def print_topic(topic: str) -> None:
    """Print a page as wide as the terminal, and at most :data:`MOST_CELLS` wide."""
    from rich.console import Console
    from rich.markdown import Markdown

    installed, checkout = Path(__file__).parents[1] / "manual", Path(__file__).parents[3] / "docs"
    text = ((installed if installed.is_dir() else checkout) / f"{topic}.md").read_text("utf-8")
    console = Console(width=min(MOST_CELLS, shutil.get_terminal_size().columns), highlight=False)
    text = _LINK.sub(r"\1", text)
    if not console.is_terminal:
        text = _CODE.sub(r"`` `\1` ``", text)  # without colours, code keeps its quotes
    with console.capture() as shown:
        console.print(Markdown(text, code_theme="bw", hyperlinks=False))
    print("\n".join(line.rstrip() for line in shown.get().splitlines()), flush=True)
