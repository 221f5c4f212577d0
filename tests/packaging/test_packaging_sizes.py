"""What is short can be read: no file over 400 lines, no class over 200 without a reason in its docstring."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE, CLASS = 400, 200
REASON = f"Longer than {CLASS} lines:"


def _sources() -> Iterator[Path]:
    for top in ("loadtop", "collectors", "tui", "tests", "benchmarks", "screenshots", "scripts", "docs"):
        yield from (path for suffix in ("py", "sh", "awk") for path in sorted((ROOT / top).rglob(f"*.{suffix}")))


@pytest.mark.parametrize("path", [pytest.param(each, id=str(each.relative_to(ROOT))) for each in _sources()])
def test_it_is_short_or_says_why_not(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= FILE
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= CLASS:
                assert REASON in (ast.get_docstring(node) or ""), f"class {node.name}"
