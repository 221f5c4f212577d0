"""Regular expressions over texts from outside have bounded quantifiers only: none takes quadratic time."""

import ast
import importlib
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from loadtop.engines.output import MAX_LINE
from loadtop.engines.tools import TOOLS, ToolReader, reader_of_line

ROOT = Path(__file__).parents[2]
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}

OWN_WORDS = (
    "loadtop.cli",  # the command line
    "loadtop.analysis.experiment.plan",  # the user's files
    "loadtop.engines.jmeter.plan",
    "loadtop.analysis.fail_if",  # options
    "loadtop.generator.plan",
    "loadtop.recording.library",
    "tui.apps.replay",  # what is typed in the cockpit
    "tui.widgets",
    "tui.screens.comparison",  # words of this program, escaped
)
"""Modules whose expressions match what the user, or this program, wrote."""

SHORT_LINES = ("loadtop.engines.tools",)
"""Modules that get lines of at most :data:`loadtop.engines.output.MAX_LINE` characters, and match from their start."""

IN_TABLES = {"collectors.transport.exec.failures": "_SAID", "collectors.transport.ssh.failures": "_PLAIN"}
"""Tables whose rows begin with an expression that is matched in a loop, by their module."""

PARSER: Any = importlib.import_module("re._parser")
REPEATS = [PARSER.MAX_REPEAT, PARSER.MIN_REPEAT, PARSER.POSSESSIVE_REPEAT]


def modules() -> Iterator[tuple[str, Path]]:
    for package in ("loadtop", "collectors", "tui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if "re." in path.read_text() and not name.startswith((*OWN_WORDS, *SHORT_LINES)):
                yield name, path


def expressions(module: ModuleType, path: Path) -> Iterator[Any]:
    """Every expression that the module gives to :mod:`re`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS):
            continue
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
            code = compile(ast.Expression(node.args[0]), str(path), "eval")
            try:
                yield eval(code, vars(module))  # noqa: S307 - of our own source
            except NameError:
                assert module.__name__ in IN_TABLES, f"{path}:{node.lineno}: say in IN_TABLES where its expressions are"
                yield from (row[0] for row in getattr(module, IN_TABLES[module.__name__]))


def unbounded(parsed: Any) -> bool:
    """Whether a repeat anywhere in a parsed expression has no upper bound."""
    if not isinstance(parsed, (list, tuple, PARSER.SubPattern)):
        return False
    parts = list(cast("Iterable[Any]", parsed))
    if len(parts) == 2 and parts[0] in REPEATS and parts[1][1] == PARSER.MAXREPEAT:
        return True
    return any(map(unbounded, parts))


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_expressions_over_texts_from_outside_are_bounded(name: str, path: Path) -> None:
    found = [each for each in expressions(importlib.import_module(name), path) if unbounded(PARSER.parse(each))]
    assert found == []


@pytest.mark.parametrize("unit", ["a", " ", "1", "a ", " 1", "1.", "\t", "[", '"', " +", "p(1)=", "1m", "requests "])
@pytest.mark.parametrize("tool", TOOLS)
def test_no_line_of_a_tool_takes_long(tool: type[ToolReader], unit: str) -> None:
    line, took = unit * (MAX_LINE // len(unit)), list[float]()
    for _ in range(3):  # the machine may be doing something else
        began = time.process_time()
        reader_of_line(line)
        for start in ("", " ", "Requests per second: ", "    http_req_duration: "):
            tool(()).read((start + line)[:MAX_LINE])
        took.append(time.process_time() - began)
    assert min(took) < 0.05


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (r"a*b", True),
        (r"(?:x|(?P<n>\d+))", True),
        (r"a{3,}", True),
        (r"(?=.*a)", True),
        (r"(?:a{1,9}|[b-z]{0,99}?)c", False),
        (r"\+\*[*+]", False),
    ],
)
def test_an_unbounded_one_is_seen(expression: str, expected: bool) -> None:
    assert unbounded(PARSER.parse(expression)) is expected
    assert re.compile(expression)
