"""Which paths of the machine a confined process sees, read-only: the system's libraries and tools, and Python's."""

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import evaluator

SYSTEM_PATHS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu", "/sys")

#: What loaders, compilers and drivers look up in /etc; the rest of it is none of a kernel's business.
ETC_PATHS: Final = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group", "nsswitch.conf", "localtime",
        "timezone", "locale.alias", "OpenCL", "nvidia", "nvidia-container-runtime", "machine-id",
    )
)  # fmt: skip

#: Device nodes: the first ones always, the patterns only where the policy grants the device.
PLAIN_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
GPU_DEVICE_PATTERNS: Final = ("nvidia*", "nvidia-caps/*", "dri/*")

#: Too wide to be shown even if something claims to live there; the last three are furnished anew.
_NEVER: Final = {"/", "/home", "/root", "/etc", "/var", "/run", "/dev", "/proc", "/tmp"}


def machine_view(extra: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Real paths to show (none inside another, missing ones left out) and links (name, target) that lead to them."""
    wanted = [*SYSTEM_PATHS, *ETC_PATHS, *_python_paths(), *_mapped_folders(), *extra]
    existing = [os.path.normpath(path) for path in wanted if path and Path(path).exists()]
    chosen: list[str] = []
    for path in sorted({os.path.realpath(path) for path in existing} - _NEVER):
        if not _inside(path, chosen):
            chosen.append(path)
    links = {path: os.path.realpath(path) for path in existing if not _inside(path, chosen)}
    return chosen, [(path, target) for path, target in sorted(links.items()) if path != target]


def closed_to_others() -> str | None:
    """A folder on the way to this interpreter or its packages that only its owner may pass, if there is one."""
    for path in _python_paths():
        real = Path(path).resolve()
        for folder in [real, *real.parents]:
            if folder.exists() and not folder.stat().st_mode & stat.S_IXOTH:
                return str(folder)
    return None


def device_nodes(*, gpu: bool) -> list[str]:
    """Absolute paths of the device nodes to show."""
    dev = Path("/dev")
    nodes = [dev / name for name in PLAIN_DEVICES]
    if gpu:
        nodes += [node for pattern in GPU_DEVICE_PATTERNS for node in sorted(dev.glob(pattern)) if not node.is_dir()]
    return [str(node) for node in nodes if node.exists()]


def _inside(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _python_paths() -> list[str]:
    """Where this interpreter and its packages live; of a source checkout only the evaluator itself."""
    package = Path(evaluator.__file__).resolve().parent
    interpreter = Path(sys.executable).resolve().parent
    left_out = (package.parent, Path.cwd())
    entries = [entry for entry in sys.path if entry and Path(entry).resolve() not in left_out]
    return [sys.prefix, sys.base_prefix, sys.exec_prefix, str(interpreter), str(package), *entries]


def _mapped_folders() -> list[str]:
    """Folders of the shared libraries that are loaded already, wherever the machine keeps its drivers."""
    folders = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if ".so" in path and "(deleted)" not in path:
                folders.add(str(Path("/", path).parent))
    return sorted(folders)
