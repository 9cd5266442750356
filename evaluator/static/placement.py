"""Statements that parse but may not stand where they stand, which Python itself finds only when it compiles."""

import ast
from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_IN_FUNCTION: dict[type[ast.AST], str] = {
    ast.Return: "'return' outside function",
    ast.Yield: "'yield' outside function",
    ast.YieldFrom: "'yield from' outside function",
    ast.Await: "'await' outside function",
}
_IN_LOOP: dict[type[ast.AST], str] = {
    ast.Break: "'break' outside loop",
    ast.Continue: "'continue' not properly in loop",
}


def misplaced(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, message) of each misplaced statement, in no particular order."""
    stack: list[tuple[ast.AST, bool, bool]] = [(tree, False, False)]
    while stack:
        node, in_function, in_loop = stack.pop()
        message = None if in_function else _IN_FUNCTION.get(type(node))
        message = message or (None if in_loop else _IN_LOOP.get(type(node)))
        if message is not None:
            yield getattr(node, "lineno", 1), message
        if isinstance(node, _FUNCTIONS):
            in_function, in_loop = True, False
        elif isinstance(node, ast.ClassDef):
            in_function, in_loop = False, False
        elif isinstance(node, _LOOPS):
            body = set(node.body)
            stack += [(child, in_function, in_loop or child in body) for child in ast.iter_child_nodes(node)]
            continue
        stack += [(child, in_function, in_loop) for child in ast.iter_child_nodes(node)]
