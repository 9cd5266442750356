"""Finds Python in Triton kernels that Triton's compiler refuses, and that its interpreter would run all the same."""

import ast
from collections.abc import Iterator

from evaluator.static.rule import Hit
from evaluator.static.source import Source
from evaluator.static.triton_kernels import kernels

# Triton's code generator has no visitor for these.
_FOREIGN_NODES: tuple[type[ast.AST], ...] = (
    ast.Import,
    ast.ImportFrom,
    ast.Try,
    ast.TryStar,
    ast.Raise,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
)
# What else may be called: constants are computed with math, and the compiler knows a few builtins. More are let through
# than it knows: a refusal here has no second look, and the compiler's own words on a GPU are better.
_CALLABLE_MODULES = frozenset({"triton", "math", "builtins"})
_REACHING_BUILTINS = frozenset(
    {"setattr", "delattr", "vars", "globals", "locals", "dir", "type", "super", "object", "memoryview", "map", "filter"}
)
# The array behind a tensor in the interpreter, an object of the compiler elsewhere.
_INTERPRETER_ATTRIBUTES = frozenset({"handle"})


def foreign_python(source: Source) -> Iterator[Hit]:
    for kernel in kernels(source):
        for node in _body(kernel):
            if message := _foreign(source, node):
                yield Hit.at(node, f"in kernel {kernel.name}: {message}")


def _body(kernel: ast.FunctionDef) -> Iterator[ast.AST]:
    """All nodes of a kernel's statements but for annotations, which nothing evaluates."""
    stack: list[ast.AST] = list(reversed(kernel.body))
    while stack:
        node = stack.pop()
        yield node
        skipped = node.annotation if isinstance(node, ast.AnnAssign) else None
        stack.extend(child for child in reversed(list(ast.iter_child_nodes(node))) if child is not skipped)


def _foreign(source: Source, node: ast.AST) -> str | None:
    if isinstance(node, _FOREIGN_NODES):
        return f"Triton's language has no {type(node).__name__}"
    if isinstance(node, ast.Attribute) and (node.attr in _INTERPRETER_ATTRIBUTES or node.attr.startswith("__")):
        return f"the attribute {node.attr} is not of Triton's language"
    return _foreign_call(source, node) if isinstance(node, ast.Call) else None


def _foreign_call(source: Source, node: ast.Call) -> str | None:
    name = source.names.resolve(node.func)
    if name is not None:
        root, _, rest = name.partition(".")
        if root not in _CALLABLE_MODULES:
            return f"{name} is not of Triton's language"
        if root == "builtins" and rest in _REACHING_BUILTINS:
            return f"{rest} is not of Triton's language"
        return None
    if isinstance(node.func, ast.Name) and _is_plain_function(source, node.func):
        return f"{node.func.id} is a function of Python's; decorate it with @triton.jit"
    return None


def _is_plain_function(source: Source, name: ast.Name) -> bool:
    """Whether a name means a module-level function without any decorator, wherever it is defined."""
    scope = source.names.scope(name).owner(name.id)
    if scope is None or scope.parent is not None:
        return False
    definitions = source.definitions.get(name.id, [])
    functions = [found for found in definitions if isinstance(found, ast.FunctionDef)]
    return bool(functions) and all(not found.decorator_list for found in functions) and not _made_a_kernel(source, name)


def _made_a_kernel(source: Source, name: ast.Name) -> bool:
    """`helper = triton.jit(helper)`: what the name means is more than its definition."""
    bindings = source.names.scope(name).root.bindings.get(name.id, [])
    return len(bindings) > len(source.definitions.get(name.id, []))
