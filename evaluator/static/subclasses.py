"""Finds tensor look-alikes: classes that take over torch's operators."""

import ast
from collections.abc import Iterator

from evaluator.static.rule import Hit
from evaluator.static.source import Source

_HOOKS = frozenset({"__torch_function__", "__torch_dispatch__"})
_BASES = frozenset({"torch.Tensor", "torch._tensor.Tensor", "torch.overrides.TorchFunctionMode",
                    "torch.utils._python_dispatch.TorchDispatchMode"})  # fmt: skip


def tensor_subclasses(source: Source) -> Iterator[Hit]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and node.name in _HOOKS:
            yield Hit.at(node, f"{node.name} takes over torch's operators")
        elif isinstance(node, ast.ClassDef) and any(source.names.resolve(base) in _BASES for base in node.bases):
            yield Hit.at(node, f"the class {node.name} poses as a tensor or takes over torch's operators")
