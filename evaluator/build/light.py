"""Headers in the place of torch's own for device code: what a CUDA source names, and not all two thousand operators.

nvcc reads its headers twice and g++ what comes out of it once more, so this is where the time of a build goes. Whatever
is missing shows as an error that names it, and then the whole headers are used: nothing is refused for this.
"""

import re
from pathlib import Path
from typing import Final

from evaluator.build.toolchain import Toolchain

FOLDER: Final = "light"
#: What a complaint mentions if these headers may be to blame for it.
BLAME: Final = r"\b(torch|std|c10|at|py|pybind11|ATen|Tensor)\b"

_TORCH_HEADER: Final = re.compile(r"^\s*#\s*include\s*[<\"]torch/(extension|types|all|torch)\.h[>\"]", re.M)
#: Python, modules and gradients live in the whole headers only.
_NEEDS_WHOLE: Final = re.compile(
    r"\b(py::|pybind11|PYBIND11_|Py[A-Z]\w+|THP\w+|TORCH_LIBRARY|requires_grad|variable_list"
    r"|torch::(nn|optim|jit|data|serialize|autograd|python|indexing|linalg|fft|special))"
)
_OPERATOR: Final = re.compile(r"\b(?:torch|at)::([a-z]\w*)\s*\(")
_NAMESPACE: Final = re.compile(r"^namespace torch \{$.*?^\} // namespace torch$", re.M | re.S)
_BASE: Final = (
    "ATen/core/Tensor.h",
    "ATen/core/Generator.h",
    "ATen/Context.h",
    "ATen/DeviceGuard.h",
    "ATen/Dispatch.h",
    "c10/core/TensorOptions.h",
    "c10/util/Exception.h",
    *("algorithm", "array", "cmath", "cstdint", "functional", "iostream", "limits", "map", "memory", "mutex"),
    *("optional", "sstream", "stdexcept", "string", "tuple", "unordered_map", "utility", "vector"),
)

#: What a CPU build of torch leaves out of its own headers, so that CUDA sources at least compile with it.
_ABSENT_ON_CPU: Final = "c10/cuda/impl/cuda_cmake_macros.h"
SUPPLIED_FOLDER: Final = "supplied"


def supplied_headers(tools: Toolchain) -> tuple[tuple[str, str], ...]:
    """(file name, text) of headers that this torch should have and has not."""
    if Path(tools.torch_home, "include", _ABSENT_ON_CPU).exists():
        return ()
    return ((f"{SUPPLIED_FOLDER}/{_ABSENT_ON_CPU}", "#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n"),)


def light_headers(text: str, tools: Toolchain) -> tuple[tuple[str, str], ...]:
    """(file name, text) of the headers for one CUDA source; empty where it needs the whole ones or none."""
    if not _TORCH_HEADER.search(text) or _NEEDS_WHOLE.search(text):
        return ()
    include = Path(tools.torch_home, "include")
    types = include / "torch/csrc/api/include/torch/types.h"
    namespace = _NAMESPACE.search(types.read_text()) if types.exists() else None
    if namespace is None:
        return ()
    named = sorted({f"ATen/ops/{name}.h" for name in _OPERATOR.findall(text)})
    headers = [*_BASE, *(header for header in named if (include / header).exists())]
    lines = ["#pragma once", *(f"#include <{header}>" for header in headers), namespace[0], ""]
    forward = "#pragma once\n#include <torch/types.h>\n"
    return (
        (f"{FOLDER}/torch/types.h", "\n".join(lines)),
        *((f"{FOLDER}/torch/{name}.h", forward) for name in ("extension", "all", "torch")),
    )
