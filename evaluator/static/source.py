"""A parsed submission, with the questions that several rules ask of it."""

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeGuard

from evaluator.static.names import Names, literal_text

MODEL = "ModelNew"

_NAMEABLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Source:
    """One module. `nodes` leaves out what a grader never runs: the body of `if __name__ == "__main__":`."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names = Names(tree)
        self.nodes = list(_live_nodes(tree))

    @cached_property
    def reads(self) -> list[tuple[ast.expr, str]]:
        """Every expression that reads something with a known dotted name, with that name."""
        return [
            (node, name)
            for node in self.nodes
            if isinstance(node, _NAMEABLE)
            and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            and (name := self.names.resolve(node))
        ]

    @cached_property
    def module_statements(self) -> list[ast.stmt]:
        """Statements that run at import, also inside `if`, `try` and `with`."""
        found: list[ast.stmt] = []
        stack: list[ast.AST] = list(reversed(self.tree.body))
        while stack:
            node = stack.pop()
            if isinstance(node, ast.stmt):
                found.append(node)
            if not isinstance(node, _Definition | ast.Lambda) and not _is_main_guard(node):
                stack.extend(reversed(list(ast.iter_child_nodes(node))))
        return found

    @cached_property
    def definitions(self) -> dict[str, list[_Definition]]:
        """Functions and classes of the module by name (several where `if` or `try` chooses one)."""
        found: dict[str, list[_Definition]] = {}
        for statement in self.module_statements:
            if isinstance(statement, _Definition):
                found.setdefault(statement.name, []).append(statement)
        return found

    def users_of(self, names: set[str]) -> set[str]:
        """The names, and all module-level functions and classes that use one of them, directly or through another."""
        users: dict[str, set[str]] = {}
        for name, nodes in self.definitions.items():
            for used in set().union(*(loaded_names(node) for node in nodes)):
                users.setdefault(used, set()).add(name)
        reached, fresh = set(names), set(names)
        while fresh:
            fresh = {user for name in fresh for user in users.get(name, ())} - reached
            reached |= fresh
        return reached

    def strings(self) -> Iterator[ast.Constant]:
        """String literals that are values: no docstrings and no strings standing alone."""
        alone = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield node


def loaded_names(node: ast.AST) -> set[str]:
    """All bare names read anywhere under a node."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)}


def _live_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        children = list(ast.iter_child_nodes(node))
        if _is_main_guard(node):
            children = [*node.orelse]
        stack.extend(reversed(children))


def _is_main_guard(node: ast.AST) -> TypeGuard[ast.If]:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    test = node.test
    sides = [test.left, *test.comparators]
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return named and len(sides) == 2 and isinstance(test.ops[0], ast.Eq) and "__main__" in map(literal_text, sides)
