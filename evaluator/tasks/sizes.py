"""The text of a task for one device: full sizes for a GPU, the file's own small sizes for the interpreter.

A task may end with a literal `CPU_SIZES = {"batch_size": 16}`. On a CPU the values of those module-level assignments
are replaced in the text itself, so that what a prompt shows is what is run.
"""

import ast
import re

from evaluator.static.syntax import parse
from evaluator.tasks.task import Device, Task, UnsupportedTask

SIZES_NAME = "CPU_SIZES"

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")  # Python's own line ends; str.splitlines knows more


class SizesError(ValueError):
    """The file's CPU_SIZES cannot be applied."""


def cpu_sizes(tree: ast.Module) -> dict[str, object]:
    """The literal CPU_SIZES of a module, {} where it has none. Raises SizesError if it is not applicable."""
    statement = _sizes_statement(tree)
    if statement is None:
        return {}
    try:
        sizes = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        raise SizesError(f"{SIZES_NAME} is not a literal") from None
    if not isinstance(sizes, dict) or not all(isinstance(name, str) for name in sizes):
        raise SizesError(f"{SIZES_NAME} is not a dict with names as keys")
    assigned = {name for name, _ in _assignments(tree)}
    if missing := sorted(set(sizes) - assigned):
        raise SizesError(f"{SIZES_NAME} names {', '.join(missing)}, which no simple module-level assignment defines")
    return sizes


def source_for(task: Task, device: Device) -> str:
    """The task's source as it is shown and executed for `device`; a file without CPU_SIZES comes out unchanged.

    Raises UnsupportedTask where the task has problems.
    """
    if task.problems:
        raise UnsupportedTask(f"{task.task_id}: {'; '.join(task.problems)}")
    tree = parse(task.source)
    statement = _sizes_statement(tree)
    if statement is None:
        return task.source
    text = task.source.encode()
    starts = line_starts(text)
    edits = [_removal(text, starts, statement)]
    if device == "cpu":
        edits += _replacements(tree, starts, task.cpu_sizes)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.decode()


def _sizes_statement(tree: ast.Module) -> ast.Assign | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and _target(node) == SIZES_NAME:
            return node
    return None


def _target(node: ast.Assign) -> str | None:
    target = node.targets[0] if len(node.targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else None


def _assignments(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and (name := _target(node)):
            found.append((name, node.value))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.append((node.target.id, node.value))
    return found


def line_starts(text: bytes) -> list[int]:
    return [match.start() for match in _LINE.finditer(text)]


def _span(starts: list[int], node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Byte offsets of a node; the parser's columns count bytes of UTF-8 too."""
    if node.end_lineno is None or node.end_col_offset is None:
        raise SizesError("a node without a position")
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _replacements(tree: ast.Module, starts: list[int], sizes: dict[str, object]) -> list[tuple[int, int, bytes]]:
    return [(*_span(starts, value), repr(sizes[name]).encode()) for name, value in _assignments(tree) if name in sizes]


def _removal(text: bytes, starts: list[int], statement: ast.stmt) -> tuple[int, int, bytes]:
    """Cut the statement with the rest of its line, and the blank lines before it if none must stay."""
    start, end = _span(starts, statement)
    rest = _LINE.match(text, end)
    end = rest.end() if rest else end
    blank = re.compile(rb"\s*\Z").match(text, end)
    if blank is None:
        return start, end, b""
    kept = text[:start].rstrip()
    return len(kept), len(text), b"\n" if kept else b""
