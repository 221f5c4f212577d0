"""Small mistakes, made on purpose: every place in a module where one operator, number, condition or step can be wrong.

The kinds are those of mutation testing at large (P. Ammann, J. Offutt: Introduction to Software Testing, chapter 9.2).
Annotations, decorators, docstrings and words for people stay as they are.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
_WORDS = ("AbsentError", "FetchError", "Message", "Metric", "Missing", "ParseError")
"""Calls whose constants say what people read."""
_CALLED = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place: ``node`` of the module's ``tree`` is to be ``changed``. ``lines`` are those of its statement;
    ``deferred``: it runs when a function is called, not when the module is imported."""

    path: Path
    tree: ast.Module
    parent: ast.AST
    place: tuple[str, int | None]
    changed: ast.AST
    function: str
    lines: range
    deferred: bool
    label: str

    @property
    def module(self) -> str:
        return ".".join(self.path.with_suffix("").parts)

    @property
    def where(self) -> str:
        return f"{self.path} {self.function}".rstrip()

    def __str__(self) -> str:
        return f"{self.where}: {self.label}"

    def compiled(self) -> CodeType:
        """The code of the whole module with this mistake in it. Changes the tree: for a process of its own."""
        name, index = self.place
        if index is None:
            setattr(self.parent, name, self.changed)
        else:
            getattr(self.parent, name)[index] = self.changed
        return compile(ast.fix_missing_locations(self.tree), str(self.path.resolve()), "exec")


def mutants_of(path: Path) -> list[Mutant]:
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    return list(_Finder(path, source, tree, strings=path.parts[0] == "collectors").below(tree, "", range(0), False))


@dataclass(frozen=True, slots=True)
class _Finder:
    path: Path
    source: str
    tree: ast.Module
    strings: bool

    def below(self, node: ast.AST, function: str, lines: range, deferred: bool) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
                continue
            if name == "keywords" and isinstance(node, ast.ClassDef):  # frozen=True
                continue
            called = deferred or (name == "body" and isinstance(node, _CALLED))
            children: list[tuple[int | None, object]] = [(None, value)]
            if isinstance(value, list):
                children = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            for index, child in children:
                if isinstance(child, ast.AST) and not _is_for_people(node, child):
                    yield from self._at(node, (name, index), child, function, lines, called)

    def _at(
        self, parent: ast.AST, place: tuple[str, int | None], node: ast.AST, function: str, lines: range, deferred: bool
    ) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        if isinstance(node, ast.stmt):
            body: list[ast.stmt] = getattr(node, "body", [])
            lines = range(node.lineno, max(node.lineno + 1, body[0].lineno) if body else (node.end_lineno or 0) + 1)
        for before, changed, after in self._changes(node, deferred=deferred):
            label = f"`{self._text(before)}` → `{ast.unparse(after)}`"
            yield Mutant(self.path, self.tree, parent, place, changed, function, lines, deferred, label)
        yield from self.below(node, function, lines, deferred)

    def _changes(self, node: ast.AST, *, deferred: bool) -> Iterator[tuple[ast.AST, ast.AST, ast.AST]]:
        """The part to name, what the node becomes, and the part as it is then."""
        for other in _expressions(node):
            yield node, other, other
        if self.strings and deferred and _is_word(node):
            yield node, (word := ast.Constant(f"{ast.literal_eval(node)}XX")), word
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not _has_opposite(node.test):
            branch = copy.copy(node)
            branch.test = ast.UnaryOp(ast.Not(), node.test)
            yield node.test, branch, branch.test
        if isinstance(node, ast.comprehension):
            for condition in node.ifs:
                loop = copy.copy(node)
                loop.ifs = [each for each in node.ifs if each is not condition]
                yield condition, loop, ast.Constant(True)
        if _is_step(node):
            yield node, ast.Pass(), ast.Pass()
        if isinstance(node, ast.AugAssign) and type(node.op) in _OPERATORS:
            step = copy.copy(node)
            step.op = _OPERATORS[type(node.op)]()
            yield node, step, step

    def _text(self, node: ast.AST) -> str:
        return " ".join((ast.get_source_segment(self.source, node) or ast.unparse(node)).split())


def _is_for_people(parent: ast.AST, child: ast.AST) -> bool:
    """Whether this is a docstring, or a part of a message."""
    if isinstance(child, ast.Expr):
        return isinstance(child.value, ast.Constant)
    called = parent.func if isinstance(parent, ast.Call) else None
    return isinstance(child, ast.Constant) and isinstance(called, ast.Name) and called.id in _WORDS


def _is_word(node: ast.AST) -> bool:
    """Whether this is a name or a separator, no sentence."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "" and " " not in node.value


def _is_step(node: ast.AST) -> bool:
    """A statement that can be forgotten: a call for its effect, an attribute or item that is set, a jump."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Expr):  # without its super() a function's code has other variables and fits it no more
        return isinstance(node.value, ast.Call) and not ast.unparse(node).startswith("super(")
    return isinstance(node, ast.Continue | ast.Break)


def _has_opposite(condition: ast.expr) -> bool:
    """Whether one of :func:`_expressions` is the opposite of a condition."""
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        return isinstance(condition.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return isinstance(condition, ast.UnaryOp)


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                changed = copy.copy(node)
                changed.ops = [*node.ops[:index], _COMPARISONS[type(operator)](), *node.ops[index + 1 :]]
                yield changed
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
            yield ast.Call(ast.Name(_FUNCTIONS[name], ast.Load()), node.args, node.keywords)
        case ast.Subscript(slice=ast.Slice(lower=ast.expr(), upper=None) | ast.Slice(lower=None, upper=ast.expr())):
            yield node.value
        case _:
            pass
