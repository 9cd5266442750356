"""Finds kernels that are launched under a `try` whose handler computes the answer with PyTorch instead."""

import ast
from collections.abc import Iterator

from evaluator.static.rule import Hit
from evaluator.static.source import Source

# what a handler may call and still not have computed the answer
_HARMLESS = (
    "torch.empty",
    "torch.empty_like",
    "torch.empty_strided",
    "torch.zeros",
    "torch.zeros_like",
    "torch.cuda",
    "torch.device",
    "torch.tensor",
    "torch.version",
    "torch.utils",
    "torch.backends",
    "torch.is_tensor",
    "torch.finfo",
)


def fallbacks(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if not isinstance(node, ast.Try | ast.TryStar) or not _launches(node.body):
            continue
        for handler in node.handlers:
            if call := _torch_call(source, handler):
                yield Hit.at(call, f"the handler computes with {source.names.called(call)} when the kernel fails")


def _launches(body: list[ast.stmt]) -> bool:
    """A call such as kernel[grid](…); anything else under `try` may be an import, a build or a look at the device."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        for statement in body
        for node in ast.walk(statement)
    )


def _torch_call(source: Source, handler: ast.ExceptHandler) -> ast.Call | None:
    for node in ast.walk(handler):
        name = source.names.called(node)
        if isinstance(node, ast.Call) and name and name.startswith("torch.") and not _harmless(name):
            return node
    return None


def _harmless(name: str) -> bool:
    return any((name + ".").startswith(prefix + ".") for prefix in _HARMLESS)
