"""The sizes of a task without CPU_SIZES: its integer literals outside of classes, and their replacement in place."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.static.syntax import parse
from evaluator.tasks.sizes import line_starts

SMALLEST = 8  # below are dimensions, strides and kernel sizes, not amounts of work
_BODIES = ("get_inputs", "get_init_inputs")


@dataclass(frozen=True)
class Literal:
    """One integer in a source, by its byte offsets."""

    start: int
    end: int
    value: int


def literals(source: str) -> list[Literal]:
    """Every integer of at least SMALLEST in module-level assignments and in the functions that make inputs."""
    tree = parse(source)
    starts = line_starts(source.encode())
    found = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name not in _BODIES:
            continue
        if isinstance(statement, ast.FunctionDef | ast.Assign | ast.AnnAssign):
            found += [_literal(node, starts) for node in ast.walk(statement) if _is_size(node)]
    return sorted(found, key=lambda literal: literal.start)


def replaced(source: str, found: Sequence[Literal], values: Sequence[int]) -> str:
    """The source with each literal replaced by the value at its place."""
    text = source.encode()
    for literal, value in sorted(zip(found, values, strict=True), key=lambda pair: -pair[0].start):
        text = text[: literal.start] + str(value).encode() + text[literal.end :]
    return text.decode()


def _is_size(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= SMALLEST


def _literal(node: ast.AST, starts: list[int]) -> Literal:
    if not isinstance(node, ast.Constant) or node.end_lineno is None or node.end_col_offset is None:
        raise TypeError("not a literal with a place")
    start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    return Literal(start, end, int(node.value))  # type: ignore[arg-type]
