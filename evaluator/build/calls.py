"""One call of torch's `load_inline` or `load` as data: what is compiled, under a digest that finds it again.

The recorder (building) and the resolver (running) make the same record from the same arguments; torch is not needed.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

CPP_SUFFIXES = (".cpp", ".cc", ".cxx", ".c")
CUDA_SUFFIXES = (".cu",)
#: A source with one of these depends on the name that the candidate chose, others work under any.
_USES_NAME = re.compile(r"\bTORCH_LIBRARY|\bPyInit_|\bPYBIND11_MODULE\s*\(\s*(?!TORCH_EXTENSION_NAME\b)")
_DIGEST_CHARS = 32


class CallError(ValueError):
    """The arguments make no extension that could be built; the text is for the candidate's author."""


@dataclass(frozen=True)
class ExtensionCall:
    """`units` are (file name, text) pairs, complete with the headers and bindings that torch would add.

    `name` is the module's name as it is built, which need not be the one that the candidate chose.
    """

    name: str
    units: tuple[tuple[str, str], ...]
    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    with_cuda: bool = False
    is_python_module: bool = True

    @property
    def digest(self) -> str:
        """What the record says, in 32 hexadecimal digits."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]

    @property
    def file_name(self) -> str:
        """`DIGEST.NAME.so`: whoever loads it needs both."""
        return f"{self.digest}.{self.name}.so"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what an untrusted process wrote; raises CallError for anything that is not such a record."""
        try:
            units = tuple((str(name), str(text)) for name, text in data["units"])
            call = cls(
                name=str(data["name"]),
                units=units,
                cflags=_strings(data["cflags"], "cflags"),
                cuda_cflags=_strings(data["cuda_cflags"], "cuda_cflags"),
                ldflags=_strings(data["ldflags"], "ldflags"),
                with_cuda=bool(data["with_cuda"]),
                is_python_module=bool(data["is_python_module"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CallError(f"not a record of a build: {error}") from error
        if not call.name.isidentifier() or any(Path(name).name != name for name, _ in units) or not units:
            raise CallError("not a record of a build: names")
        return call


def from_load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    sycl_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> ExtensionCall:
    """The record of a `load_inline` call, with torch's signature and semantics (torch 2.11, 2.13). Raises CallError."""
    if sycl_sources or with_sycl:
        raise CallError("load_inline: SYCL is not supported here")
    cpp, cuda = list(_strings(cpp_sources, "cpp_sources")), list(_strings(cuda_sources, "cuda_sources"))
    if not no_implicit_headers:
        cpp.insert(0, "#include <torch/extension.h>")
    if functions is not None:
        cpp += _bindings(functions, with_pytorch_error_handling)
    units = [("main.cpp", "\n".join(cpp))]
    if cuda:
        headers = [] if no_implicit_headers else [f"#include <{h}>" for h in _CUDA_HEADERS]
        units.append(("cuda.cu", "\n".join([*headers, *cuda])))
    return _call(
        name, units, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, with_cuda, is_python_module
    )


def from_load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> ExtensionCall:
    """The record of a `load` call; the source files are read now. Raises CallError or OSError."""
    if is_standalone or with_sycl:
        raise CallError("load: standalone programs and SYCL are not supported here")
    units = [(Path(path).name, Path(path).read_text()) for path in _strings(sources, "sources")]
    return _call(
        name, units, extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, with_cuda, is_python_module
    )


_CUDA_HEADERS = ("torch/types.h", "cuda.h", "cuda_runtime.h")


def _call(
    name: str,
    units: list[tuple[str, str]],
    cflags: Sequence[str] | None,
    cuda_cflags: Sequence[str] | None,
    ldflags: Sequence[str] | None,
    include_paths: Sequence[str] | None,
    with_cuda: bool | None,
    is_python_module: bool,
) -> ExtensionCall:
    if not isinstance(name, str) or not name.isidentifier():
        raise CallError(f"name: a Python identifier, not {name!r}")
    if include_paths:
        raise CallError("extra_include_paths: there are no headers but those of the system, CUDA and torch")
    for file, _ in units:
        if not file.endswith((*CPP_SUFFIXES, *CUDA_SUFFIXES)):
            raise CallError(f"sources: {file} is neither C++ nor CUDA")
    has_cuda = any(file.endswith(CUDA_SUFFIXES) for file, _ in units)
    named = any(_USES_NAME.search(text) for _, text in units)
    return ExtensionCall(
        name=name if named or not is_python_module else "extension",
        units=tuple(units),
        cflags=_strings(cflags, "extra_cflags"),
        cuda_cflags=_strings(cuda_cflags, "extra_cuda_cflags"),
        ldflags=_strings(ldflags, "extra_ldflags"),
        with_cuda=has_cuda if with_cuda is None else bool(with_cuda),
        is_python_module=bool(is_python_module),
    )


def _bindings(functions: str | Sequence[str] | Mapping[str, str], error_handling: bool) -> list[str]:
    if isinstance(functions, str):
        functions = [functions]
    if not isinstance(functions, Mapping):
        functions = {function: function for function in _strings(functions, "functions")}
    wrap = "torch::wrap_pybind_function({})" if error_handling else "{}"
    lines = [f'm.def("{name}", {wrap.format(name)}, "{doc}");' for name, doc in functions.items()]
    return ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"]


def _strings(value: object, argument: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise CallError(f"{argument}: a string or a list of strings")
    return tuple(value)
