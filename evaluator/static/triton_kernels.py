"""Finds Triton kernels and whether the submission uses them."""

import ast
from collections.abc import Iterator

from evaluator.static.rule import Hit
from evaluator.static.source import Source

_JIT = frozenset(
    {
        "triton.jit",
        "triton.runtime.jit",
        "triton.runtime.jit.jit",
        "triton.runtime.JITFunction",
        "triton.runtime.jit.JITFunction",
        "triton.JITFunction",
        "triton.experimental.gluon.jit",
        "triton.experimental.gluon._runtime.jit",
    }
)
_PARTIAL = "functools.partial"


def kernels(source: Source) -> list[ast.FunctionDef]:
    """The functions that a jit decorator turns into kernels, wherever they are defined."""
    return [node for node in source.nodes if isinstance(node, ast.FunctionDef) and _is_kernel(source, node)]


def kernel_names(source: Source) -> set[str]:
    """Names of the kernels."""
    return {kernel.name for kernel in kernels(source)}


def no_kernel(source: Source) -> Iterator[Hit]:
    if not kernel_names(source) and not jit_calls(source):
        yield Hit(None, "the submission defines no Triton kernel: no function is decorated with triton.jit")


def not_launched(source: Source) -> Iterator[Hit]:
    names = kernel_names(source)
    if not names or jit_calls(source):
        return
    if not names & _names_outside_kernels(source):
        listed = ", ".join(sorted(names)[:5])
        yield Hit(_first_line(source), f"no Triton kernel is launched: nothing outside the kernels uses {listed}")


def _is_kernel(source: Source, node: ast.FunctionDef) -> bool:
    return any(_is_jit(source, decorator) for decorator in node.decorator_list)


def _is_jit(source: Source, decorator: ast.expr) -> bool:
    """`@triton.jit`, `@triton.jit(…)`, `@partial(triton.jit, …)`, under any name."""
    if source.names.resolve(decorator) in _JIT:
        return True
    if not isinstance(decorator, ast.Call):
        return False
    function = source.names.called(decorator)
    if function == _PARTIAL and decorator.args:
        return source.names.resolve(decorator.args[0]) in _JIT
    return function in _JIT


def jit_calls(source: Source) -> bool:
    """jit applied by hand, as in `kernel = triton.jit(function)`, or inside a decorator of the submission's own."""
    decorators = {
        id(child)
        for node in source.nodes
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        for child in ast.walk(decorator)
    }
    return any(
        isinstance(node, ast.Call) and id(node) not in decorators and source.names.called(node) in _JIT
        for node in source.nodes
    )


def _names_outside_kernels(source: Source) -> set[str]:
    """Names read outside kernel bodies. A kernel is used where its name is: launches take too many shapes to list."""
    inside = {id(child) for kernel in kernels(source) for child in ast.walk(kernel)}
    names = {
        node.id
        for node in source.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
    }
    attributes = {node.attr for node in source.nodes if isinstance(node, ast.Attribute) and id(node) not in inside}
    return names | attributes


def _first_line(source: Source) -> int | None:
    return min((kernel.lineno for kernel in kernels(source)), default=None)
