"""Update the translation catalogues and ``docs/messages.md`` from the templates in the code (``make catalog``).

New templates are added without a translation, unused ones are removed, and a language that is new in
``loadtop.i18n.LANGUAGES`` gets its file. ``tests/unit/i18n/test_catalog.py`` fails until everything is translated.

A template is an argument of ``tr``, ``Message``, ``plural`` or a ``MessageError``, or a literal of the type
``Translatable``: the value of a variable (also within tuples, lists and dictionaries), what a function returns or
yields, a field or parameter where the class or function is called. Names are followed to what is assigned to them in
the same function or module. The values of a ``TranslatableEnum`` are templates too.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from loadtop.i18n import LANGUAGES

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "loadtop" / "i18n" / "locale"
PACKAGES = ("loadtop", "collectors", "tui")
MARK = "Translatable"
PLACE = re.compile(r"\{\{|\}\}|(\{\w+[^{}]*\})")
HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Language: {language}\\n"
"Plural-Forms: nplurals={plurals}; plural={plural};\\n"

"""

Template = str | tuple[str, str]
Names = dict[str, list[ast.expr]]
"""What is assigned to each name in a function or a module."""
Fields = dict[str, ast.expr]
"""The fields of a class, or the parameters of a function, in order, with their types."""


def templates() -> set[Template]:
    """Return every template in the code; a singular and its plural form a pair."""
    return set(chain.from_iterable(templates_by_file().values()))


def templates_by_file() -> dict[Path, set[Template]]:
    """Return the templates of each source file."""
    trees = parsed()
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = {
        node.name: fields
        for node in nodes
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and _marked(fields := _fields(node))
    }
    functions = {"tr", "Message", *subclasses(nodes, "MessageError")}
    return {path: set(_Module(tree, functions, classes).templates()) for path, tree in trees.items()}


def parsed() -> dict[Path, ast.Module]:
    """Return the syntax tree of every source file of the packages."""
    paths = sorted(chain.from_iterable((ROOT / package).rglob("*.py") for package in PACKAGES))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def has_words(template: Template) -> bool:
    """Return whether there is anything to translate besides the places and punctuation."""
    return any(character.isalpha() for text in _each(template) for character in PLACE.sub("", text))


def places(template: str | Sequence[str]) -> set[str]:
    """Return the places of a template, or of those for one and for many."""
    return {place for text in _each(template) for place in PLACE.findall(text) if place}


def _each(template: str | Sequence[str]) -> Sequence[str]:
    return [template] if isinstance(template, str) else template


def subclasses(nodes: list[ast.AST], base: str) -> set[str]:
    """The names of a class and of all that derive from it."""
    found = {base}
    while True:
        more = {
            node.name
            for node in nodes
            if isinstance(node, ast.ClassDef)
            and any(isinstance(each, ast.Name) and each.id in found for each in node.bases)
        }
        if more <= found:
            return found
        found |= more


def _fields(node: ast.ClassDef | ast.FunctionDef) -> Fields:
    if isinstance(node, ast.FunctionDef):
        return {each.arg: each.annotation for each in node.args.args if each.annotation is not None}
    return {
        each.target.id: each.annotation
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _marked(fields: Fields) -> bool:
    parts = (part for annotation in fields.values() for part in ast.walk(annotation))
    return any(isinstance(part, ast.Name) and part.id == MARK for part in parts)


_SPEAKING = (ast.Call, ast.AnnAssign, ast.FunctionDef, ast.Subscript, ast.ClassDef)
"""The nodes that may hold templates; the others are nine of ten."""


class _Module:
    """One file: what is called or declared in it."""

    def __init__(self, tree: ast.Module, functions: set[str], classes: dict[str, Fields]) -> None:
        self._tree = tree
        self._functions = functions
        own = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not _marked(_fields(node))}
        self._classes = {name: fields for name, fields in classes.items() if name not in own}
        self._names: Names = {}

    def templates(self) -> Iterator[Template]:
        constants = _assigned(self._tree.body)
        whole = list(ast.walk(self._tree))
        functions = [node for node in whole if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for scope in (self._tree, *functions):
            nodes = whole if scope is self._tree else list(ast.walk(scope))
            self._names = constants | (_assigned(nodes) if scope is not self._tree else {})
            for node in nodes:
                if isinstance(node, _SPEAKING):
                    yield from self._of_node(node)

    def _of_node(self, node: ast.AST) -> Iterator[Template]:
        match node:
            case ast.Call(func=ast.Name(id="plural"), args=[_, one, many, *_]):
                yield from zip(self._literals(one), self._literals(many), strict=True)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in self._functions:
                yield from self._literals(first)
            case ast.Call(func=ast.Name(id=name)) if name in self._classes:
                fields = self._classes[name]
                values = [*zip(fields, node.args, strict=False), *((each.arg, each.value) for each in node.keywords)]
                for field, value in values:
                    yield from self._of_type(fields.get(field or ""), value)
            case _:
                yield from self._of_declaration(node)

    def _of_declaration(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.AnnAssign(annotation=annotation, value=ast.expr() as value):
                yield from self._of_type(annotation, value)
            case ast.FunctionDef(returns=ast.Subscript(value=ast.Name(id="Iterator"), slice=kind)):
                for each in ast.walk(node):
                    if isinstance(each, ast.Yield) and each.value is not None:
                        yield from self._of_type(kind, each.value)
            case ast.FunctionDef(returns=ast.Name() as kind):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and each.value is not None:
                        yield from self._of_type(kind, each.value)
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[kind, ast.Name(id=name)])):
                if name == MARK:
                    yield from chain.from_iterable(map(self._literals, _constants(kind)))
            case ast.ClassDef(bases=[ast.Name(id="TranslatableEnum")], body=body):
                yield from chain.from_iterable(map(self._literals, chain.from_iterable(_assigned(body).values())))
            case _:
                pass

    def _literals(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.Constant(value=str(text)) if text:
                yield text
            case ast.IfExp(body=first, orelse=other):
                yield from chain(self._literals(first), self._literals(other))
            case ast.Subscript(value=ast.Dict(values=values)):
                yield from chain.from_iterable(map(self._literals, values))
            case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
                yield from self._literals(default)
            case ast.Name(id=name):
                for value in self._names.get(name, ()):
                    if not isinstance(value, ast.Name):
                        yield from self._literals(value)
            case _:
                pass

    def _of_type(self, kind: ast.expr | None, node: ast.expr) -> Iterator[str]:
        """The literals in ``node`` that are translatable by its type."""
        match kind, node:
            case ast.Name(id="Translatable"), _:
                yield from self._literals(node)
            case ast.Subscript(), ast.Name(id=name):
                for value in self._names.get(name, ()):
                    if not isinstance(value, ast.Name):
                        yield from self._of_type(kind, value)
            case ast.BinOp(left=left, right=right), _:  # a union
                yield from chain(self._of_type(left, node), self._of_type(right, node))
            case ast.Subscript(slice=ast.Tuple(elts=[key_kind, value_kind])), ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    yield from chain(self._of_type(key_kind, key or value), self._of_type(value_kind, value))
            case ast.Subscript(slice=ast.Tuple(elts=[each_kind, ast.Constant()])), ast.Tuple(elts=each):
                yield from self._of_each(kind, each_kind, each)
            case ast.Subscript(slice=ast.Tuple(elts=kinds)), ast.Tuple(elts=each):
                yield from chain.from_iterable(self._of_type(*pair) for pair in zip(kinds, each, strict=False))
            case ast.Subscript(slice=each_kind), ast.Tuple(elts=each) | ast.List(elts=each) | ast.Set(elts=each):
                yield from self._of_each(kind, each_kind, each)
            case _:
                pass

    def _of_each(self, kind: ast.expr | None, each_kind: ast.expr, each: list[ast.expr]) -> Iterator[str]:
        for value in each:
            if isinstance(value, ast.Starred):
                yield from self._of_type(kind, value.value)
            else:
                yield from self._of_type(each_kind, value)


def _constants(node: ast.expr) -> Iterator[ast.expr]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Constant))


def _assigned(nodes: Iterable[ast.AST]) -> Names:
    found: Names = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
            case _:
                pass
    return found


def read(path: Path) -> Catalog:
    """Return the catalogue in a ``.po`` file."""
    with path.open("rb") as file:
        return read_po(file)


def write(path: Path, catalog: Catalog) -> None:
    """Write a ``.po`` file, sorted, without places in the code: a diff shows texts only."""
    header = HEADER.format(language=catalog.locale_identifier, plurals=catalog.num_plurals, plural=catalog.plural_expr)
    with path.open("wb") as file:
        file.write(header.encode())
        write_po(file, catalog, width=0, sort_output=True, omit_header=True, ignore_obsolete=True)


def main() -> None:
    """Update every catalogue and the page of messages, and print what lacks a translation."""
    from scripts.messages import main as write_page  # it imports this module

    write_page()
    found = templates()
    for language in LANGUAGES:
        if language == "en":
            continue
        path = LOCALE / language / "LC_MESSAGES" / "loadtop.po"
        before = read(path) if path.exists() else Catalog()
        catalog = Catalog(locale=language)
        for template in found:
            known = before.get(template)
            if known or has_words(template):
                catalog.add(template, known.string if known else "")
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, catalog)
        missing = [str(entry.id) for entry in catalog if entry.id and not any(entry.string or "")]  # a text or plurals
        title = f"{path.relative_to(ROOT)}: {len(catalog)} templates, {len(missing)} without a translation"
        print(title, *missing, sep="\n  ")


if __name__ == "__main__":
    main()
