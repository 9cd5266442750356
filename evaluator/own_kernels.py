"""Names of the kernels that a submission defines, read from its source."""

import ast
import re

from evaluator.static.c_text import code_only
from evaluator.static.source import Source
from evaluator.static.triton_kernels import kernel_names

_ATTRIBUTE = re.compile(r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__)\s*\([^;{}]{0,200}?\)+")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\(")


def own_kernel_names(source: Source) -> frozenset[str]:
    """Triton's jit functions and CUDA's `__global__` functions in any string of the source."""
    names = set(kernel_names(source))
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
            names.update(_global_functions(code_only(node.value)))
    return frozenset(names)


def _global_functions(code: str) -> list[str]:
    """The name before the first parenthesis after each `__global__`, its attributes aside."""
    pieces = [_ATTRIBUTE.sub(" ", piece[:1000]) for piece in code.split("__global__")[1:]]
    return [match.group(1) for piece in pieces if (match := _FUNCTION.search(piece))]
