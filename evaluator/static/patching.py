"""Finds assignments that replace parts of torch, triton, timers or the interpreter."""

import ast
from collections.abc import Iterator

from evaluator.static.forbidden import PATCH_ROOTS, PATCH_SETTINGS
from evaluator.static.rule import Hit
from evaluator.static.source import Source

_SETTERS = ("builtins.setattr", "builtins.delattr", "object.__setattr__", "builtins.object.__setattr__")
_PATCHERS = ("unittest.mock.patch", "unittest.mock.patch.object", "unittest.mock.patch.dict")


def patches(source: Source) -> Iterator[Hit]:
    """Module state that belongs to others and is assigned, deleted or set."""
    for node, name in _written(source):
        if _guarded(name) and not _is_setting(name):
            yield Hit.at(node, f"{name.removeprefix('builtins.')} is replaced")
    for node in source.nodes:
        if source.names.called(node) in _PATCHERS:
            yield Hit.at(node, "unittest.mock replaces parts of other modules")


def settings(source: Source) -> Iterator[Hit]:
    """Back-end flags: harmless, and without effect."""
    for node, name in _written(source):
        if _is_setting(name):
            yield Hit.at(node, f"setting {name} has no effect: the grader sets it again before every call")


def _written(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """(node, dotted name) of everything with a known name that is assigned or deleted."""
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            target: str | None = source.names.resolve(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            target = _namespace_owner(source, node)
        elif isinstance(node, ast.Call) and source.names.called(node) in _SETTERS and node.args:
            owner = source.names.resolve(node.args[0])
            target = None if owner is None else f"{owner}.*"
        else:
            continue
        if target is not None:
            yield node, target


def _namespace_owner(source: Source, node: ast.Subscript) -> str | None:
    """The module whose `__dict__` or `vars()` is written to."""
    if isinstance(node.value, ast.Call):
        is_vars = source.names.called(node.value) == "builtins.vars" and bool(node.value.args)
        owner = source.names.resolve(node.value.args[0]) if is_vars else None
    else:
        mapping = source.names.resolve(node.value) or ""
        owner = mapping.removesuffix(".__dict__") if mapping.endswith(".__dict__") else None
    return None if owner is None else f"{owner}.*"


def _guarded(name: str) -> bool:
    return name.partition(".")[0] in PATCH_ROOTS


def _is_setting(name: str) -> bool:
    return any((name + ".").startswith(prefix + ".") for prefix in PATCH_SETTINGS)
