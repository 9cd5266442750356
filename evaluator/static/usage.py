"""Finds uses of forbidden names and attributes."""

import ast
from collections.abc import Callable, Iterator

from evaluator.static.forbidden import FORBIDDEN_ATTRIBUTES, USELESS_MODULES, NameRule
from evaluator.static.rule import Hit
from evaluator.static.source import Source


def uses(rule: NameRule) -> Callable[[Source], Iterator[Hit]]:
    """A finder of every read of a name that the rule forbids."""

    def find(source: Source) -> Iterator[Hit]:
        for node, name in source.reads:
            if rule.matches(name):
                yield Hit.at(node, f"{_public(name)} {rule.what}")

    return find


def forbidden_attributes(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
            yield Hit.at(node, f"the attribute {node.attr} leads out of the submission into the code that runs it")


def computed_imports(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if source.names.called(node) == "importlib.import_module" and source.names.resolve(_expr(node)) is None:
            yield Hit.at(node, "importlib.import_module imports a module whose name is computed")


def star_imports(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.names[0].name == "*":
            root = node.module.partition(".")[0]
            if root in USELESS_MODULES or root == "builtins":
                yield Hit.at(node, f"from {node.module} import * hides what is used of {node.module}")


def useless_imports(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            roots = {(node.module or "").partition(".")[0]}
        else:
            continue
        if useless := sorted(roots & USELESS_MODULES):
            yield Hit.at(node, f"a kernel has no use for {', '.join(useless)}")


def _public(name: str) -> str:
    return name.removeprefix("builtins.")


def _expr(node: ast.AST) -> ast.expr:
    assert isinstance(node, ast.expr)  # only calls have a callee
    return node
