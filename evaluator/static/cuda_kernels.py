"""Finds CUDA kernels in the strings that a submission has compiled, and whether they are launched."""

import ast
import re
from collections.abc import Iterator

from evaluator.static.c_text import code_only
from evaluator.static.rule import Hit
from evaluator.static.source import Source

LOADERS = frozenset({"torch.utils.cpp_extension.load_inline"})

_KERNEL = re.compile(r"\b__global__\b")
_LAUNCH = re.compile(r"<<<|\b(?:cuda|cu)Launch(?:Cooperative)?Kernel(?:Ex|ExC)?\b")


def loader_calls(source: Source) -> list[ast.Call]:
    """Calls of load_inline, under any name."""
    return [node for node in source.nodes if isinstance(node, ast.Call) and source.names.called(node) in LOADERS]


def no_kernel(source: Source) -> Iterator[Hit]:
    if not _loader_used(source):
        yield Hit(None, "the submission builds no CUDA extension: load_inline is never called")
    elif not any(_KERNEL.search(text) for text in _texts(source)):
        yield Hit(_line(source), "the CUDA sources define no kernel: no string holds a __global__ function")


def not_launched(source: Source) -> Iterator[Hit]:
    texts = list(_texts(source))
    defined = any(_KERNEL.search(text) for text in texts)
    if defined and _loader_used(source) and not any(_LAUNCH.search(text) for text in texts):
        yield Hit(_line(source), "no CUDA kernel is launched: there is neither <<<…>>> nor a cudaLaunchKernel call")


def _loader_used(source: Source) -> bool:
    """Called, or handed on, as in `functools.partial(load_inline, …)`."""
    return any(name in LOADERS for _, name in source.reads)


def _texts(source: Source) -> Iterator[str]:
    for node in source.strings():
        assert isinstance(node.value, str)  # what strings() yields
        yield code_only(node.value)


def _line(source: Source) -> int | None:
    return min((call.lineno for call in loader_calls(source)), default=None)
