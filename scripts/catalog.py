"""Bring the catalogues of translations up to date with the templates in the code (``make catalog``).

New templates are added without a translation, unused ones are removed. ``tests/unit/i18n/test_catalog.py`` fails
until everything is translated.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "loadtop" / "i18n" / "locale"
PACKAGES = ("loadtop", "collectors", "tui")
TEMPLATES = {"tr": (0,), "Message": (0,), "translatable": (0,), "plural": (1, 2)}
"""Functions whose arguments at these places are templates."""
HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Language: {language}\\n"
"Plural-Forms: nplurals={plurals}; plural={plural};\\n"

"""


def templates() -> set[str | tuple[str, str]]:
    """Return every template in the code; one for one thing and for many as a pair."""
    found: set[str | tuple[str, str]] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEMPLATES:
                    found |= set(_of(node, TEMPLATES[node.func.id]))
    return found


def _of(call: ast.Call, places: tuple[int, ...]) -> Iterator[str | tuple[str, str]]:
    texts = [list(_literals(call.args[place])) for place in places if place < len(call.args)]
    if len(texts) == 2:
        yield from zip(*texts, strict=True)
    elif texts:
        yield from texts[0]


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def write(path: Path, catalog: Catalog) -> None:
    header = HEADER.format(language=catalog.locale_identifier, plurals=catalog.num_plurals, plural=catalog.plural_expr)
    with path.open("wb") as file:
        file.write(header.encode())
        write_po(file, catalog, width=0, sort_output=True, omit_header=True, ignore_obsolete=True)


def main() -> None:
    for path in LOCALE.glob("*/LC_MESSAGES/*.po"):
        before = read(path)
        catalog = Catalog(locale=before.locale)
        for template in templates():
            known = before.get(template)
            catalog.add(template, known.string if known else "")
        write(path, catalog)
        missing = sum(1 for entry in catalog if entry.id and not entry.string)
        print(f"{path.relative_to(ROOT)}: {len(catalog)} templates, {missing} without a translation")


if __name__ == "__main__":
    main()
