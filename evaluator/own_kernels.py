"""Names of the kernels that a submission defines, read from its source."""

import ast
import re

from evaluator.static.c_text import code_only
from evaluator.static.source import Source
from evaluator.static.triton_kernels import jit_calls, kernel_names

_ATTRIBUTE = re.compile(r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__)\s*\([^;{}]{0,200}?\)+")
_FUNCTION = re.compile(r"([A-Za-z_]\w*(?:\s*##\s*\w+)*|\w+(?:\s*##\s*\w+)+)\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:\\\n|[^\n])*)", re.MULTILINE)
_PIECE_MAX = 1000
_MACROS_MAX = 64
_USES_MAX = 1000


def own_kernel_names(source: Source) -> frozenset[str]:
    """Triton's jit functions and CUDA's `__global__` functions in any string of the source."""
    names = set(kernel_names(source))
    if jit_calls(source):  # any function may be handed to them, through whatever names
        names.update(node.name for node in source.nodes if isinstance(node, ast.FunctionDef))
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value:
            names.update(_global_functions(code_only(node.value)))
    return frozenset(names)


def _global_functions(code: str) -> set[str]:
    """Kernels of one CUDA source, those that its macros define included."""
    macros = [match.groups() for match in _MACRO.finditer(code) if "__global__" in match[3]][:_MACROS_MAX]
    code = _MACRO.sub(lambda match: " " if "__global__" in match[3] else match[0], code)
    names: set[str] = set()
    for name, parameters, body in macros:
        if parameters is None:  # another word for __global__ and what goes with it
            code = re.sub(rf"\b{name}\b", " __global__ ", code)
        else:
            names.update(_pasted(code, name, parameters, body))
    return names | set(_names_after_global(code))


def _names_after_global(code: str) -> list[str]:
    """The name before the first parenthesis after each `__global__`, its attributes aside."""
    pieces = [_ATTRIBUTE.sub(" ", piece[:_PIECE_MAX]) for piece in code.split("__global__")[1:]]
    return [match.group(1) for piece in pieces if (match := _FUNCTION.search(piece))]


def _pasted(code: str, macro: str, parameters: str, body: str) -> set[str]:
    """The names that the uses of a function-like macro give to the kernels in its body."""
    words = [word.strip() for word in parameters.strip("()").split(",")]
    names = set()
    for use in list(re.finditer(rf"\b{macro}\s*\(([^()]*)\)", code))[:_USES_MAX]:
        values = dict(zip(words, (value.strip() for value in use[1].split(",")), strict=False))
        for name in _names_after_global(body):
            parts = re.split(r"\s*##\s*", name)
            names.add("".join(values.get(part, part) for part in parts))
    return names
