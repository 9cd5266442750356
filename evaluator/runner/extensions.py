"""In a runner: torch's builders give back what was built beforehand, and build nothing."""

import importlib.machinery
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.utils.cpp_extension

from evaluator.build.calls import ExtensionCall, from_load, from_load_inline


class ExtensionNotBuilt(RuntimeError):
    """The candidate asks for an extension that nobody foresaw; `call` says which."""

    def __init__(self, call: ExtensionCall) -> None:
        super().__init__(
            "this extension was not built: call load_inline at the top level of the module, with arguments that are "
            "the same every time it is imported"
        )
        self.call = call


def install_resolver(artifacts: Mapping[str, str]) -> None:
    """Replace `load_inline` and `load` of torch.utils.cpp_extension; `artifacts` maps a call's digest to a file.

    Called before the candidate is imported. The files' names are `DIGEST.NAME.so`, as `ExtensionCall.file_name` has
    it. A call whose digest is not there raises ExtensionNotBuilt with what to do about it.
    """
    replace_builders(
        load_inline=lambda *args, **kwargs: _resolve(from_load_inline(*args, **kwargs), artifacts),
        load=lambda *args, **kwargs: _resolve(from_load(*args, **kwargs), artifacts),
    )


def replace_builders(*, load_inline: Callable[..., Any], load: Callable[..., Any]) -> None:
    """Put these in the place of torch's functions."""
    torch.utils.cpp_extension.load_inline = load_inline
    torch.utils.cpp_extension.load = load


def _resolve(call: ExtensionCall, artifacts: Mapping[str, str]) -> ModuleType | str | None:
    path = artifacts.get(call.digest)
    if path is None:
        raise ExtensionNotBuilt(call)
    if not call.is_python_module:
        torch.ops.load_library(path)
        return None
    return _import(Path(path).name.split(".")[1], path)


def _import(name: str, path: str) -> ModuleType:
    """Import an extension file under the name that it was built with."""
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise ImportError(f"no loader for {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
