"""Mutants of a source file, made from its syntax: one comparison, logical word, sum, end or number changed in each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_ENDS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` in line `line` of `file`, relative to the repository, becomes `new`; `tree` is the whole file then.

    `text`: that line as it is, but for blanks at either end.
    """

    file: str
    line: int
    text: str
    old: str
    new: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.old}  ->  {self.new}"


def mutants_of(root: Path, file: str, only: tuple[str, ...] = ()) -> Iterator[Mutant]:
    """`only`: functions and classes that are changed; empty: everything. Texts for people and indices stay."""
    source = (root / file).read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    for top in tree.body:
        if only and getattr(top, "name", None) not in only:
            continue
        for node in _places(top):
            for changed in _changed(node):
                text, old, new = lines[node.lineno - 1].strip(), ast.unparse(node), ast.unparse(changed)
                yield Mutant(file, node.lineno, text, old, new, _with(tree, node, changed))


def _places(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression in which something is computed, outermost first."""
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.JoinedStr) or name in ("annotation", "returns", "slice", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _places(child)


def _changed(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield ast.Compare(node.left, [*node.ops[:number], other(), *node.ops[number + 1 :]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _SUMS:
        yield ast.BinOp(node.left, _SUMS[type(node.op)](), node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ENDS:
        yield ast.Call(ast.Name(_ENDS[node.func.id], ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        step = 1 if isinstance(node.value, int) else node.value / 1000 or 1.0
        yield from (ast.Constant(node.value + by) for by in (-step, step))


def _with(tree: ast.Module, old: ast.expr, new: ast.expr) -> ast.Module:
    """A copy of the file in which one expression is another."""
    place = (old.lineno, old.col_offset, old.end_lineno, old.end_col_offset)

    class Swap(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            same = type(node) is type(old) and isinstance(node, ast.expr)
            if same and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == place:
                return ast.copy_location(copy.deepcopy(new), node)
            return super().generic_visit(node)

    return ast.fix_missing_locations(Swap().visit(copy.deepcopy(tree)))
