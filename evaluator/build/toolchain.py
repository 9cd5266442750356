"""What a build uses on this machine: compilers, torch's headers and libraries, CUDA; found without importing torch."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from evaluator.errors import GraderFault

#: Changed whenever what is built from the same call changes.
RECIPE = 2
_CUDA_PLACES = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")


@dataclass(frozen=True)
class Toolchain:
    """Absolute paths and versions. `nvcc` and `cuda_home` are None on a machine without the CUDA toolkit."""

    cxx: str
    cxx_version: str
    nvcc: str | None
    cuda_home: str | None
    nvcc_version: str
    torch_home: str
    torch_version: str
    cxx_standard: str
    python_include: str
    python_tag: str

    @classmethod
    def here(cls) -> Self:
        """This machine's. Raises GraderFault where there is no C++ compiler or no torch."""
        cxx = shutil.which("g++") or shutil.which("c++")
        if cxx is None:
            raise GraderFault("no_compiler", "no g++ on PATH", retryable=False)
        torch_home = _torch_home()
        cuda_home = _cuda_home()
        nvcc = str(Path(cuda_home, "bin/nvcc")) if cuda_home else None
        return cls(
            cxx=cxx,
            cxx_version=_first_line([cxx, "--version"]),
            nvcc=nvcc,
            cuda_home=cuda_home,
            nvcc_version=_run([nvcc, "--version"]).strip().splitlines()[-1] if nvcc else "",
            torch_home=str(torch_home),
            torch_version=(torch_home / "version.py").read_text(),
            cxx_standard=_cxx_standard(torch_home),
            python_include=sysconfig.get_path("include", scheme="posix_prefix"),
            python_tag=str(sysconfig.get_config_var("SOABI")),
        )

    def fingerprint(self, arch_list: tuple[str, ...]) -> str:
        """What besides the call decides the artifact."""
        parts = (str(RECIPE), self.cxx_version, self.nvcc_version, self.torch_version, self.python_tag, *arch_list)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def include_flags(self, *, cuda: bool) -> list[str]:
        """-isystem flags for torch, Python and CUDA."""
        include = Path(self.torch_home, "include")
        folders = [include, include / "torch/csrc/api/include", Path(self.python_include)]
        if cuda and self.cuda_home and self.cuda_home != "/usr":
            folders.append(Path(self.cuda_home, "include"))
        return [word for folder in folders for word in ("-isystem", str(folder))]

    def link_flags(self, *, cuda: bool) -> list[str]:
        """Libraries in torch's order; those that this torch does not have are left out (a CPU build)."""
        lib = Path(self.torch_home, "lib")
        wanted = ["c10", *(["c10_cuda"] if cuda else []), "torch_cpu", *(["torch_cuda"] if cuda else []), "torch"]
        flags = [f"-L{lib}", *(f"-l{name}" for name in [*wanted, "torch_python"] if (lib / f"lib{name}.so").exists())]
        if cuda and self.cuda_home:
            flags += [f"-L{_cuda_library_folder(self.cuda_home)}", "-lcudart"]
        return flags

    def visible_paths(self) -> tuple[str, ...]:
        """What a confined compiler must be able to read besides the system's own."""
        return tuple(path for path in (self.torch_home, self.python_include, self.cuda_home) if path)


@cache
def toolchain() -> Toolchain:
    """`Toolchain.here()`, looked up once per process."""
    return Toolchain.here()


def _torch_home() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise GraderFault("no_torch", "torch is not installed", retryable=False)
    return Path(spec.origin).resolve().parent


def _cxx_standard(torch_home: Path) -> str:
    """The one that this torch's own builder uses: its headers need it."""
    text = (torch_home / "utils/cpp_extension.py").read_text()
    found = re.search(r"'-fPIC', '-std=(c\+\+\d\d)'", text)
    return found.group(1) if found else "c++17"


def _cuda_home() -> str | None:
    nvcc = shutil.which("nvcc")
    places = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *_CUDA_PLACES]
    places.append(str(Path(nvcc).resolve().parents[1]) if nvcc else None)
    for place in places:
        if place and Path(place, "bin/nvcc").exists() and Path(place, "include/cuda_runtime.h").exists():
            return str(Path(place).resolve())
    return None


def _cuda_library_folder(cuda_home: str) -> str:
    for name in ("lib64", "lib"):
        if Path(cuda_home, name, "libcudart.so").exists():
            return str(Path(cuda_home, name))
    return str(Path(cuda_home, "lib64"))


def _run(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise GraderFault("no_compiler", f"{command[0]} does not run: {error}", retryable=False) from error


def _first_line(command: list[str]) -> str:
    return _run(command).partition("\n")[0]
