"""Whether this machine and this environment can grade on a GPU, found out without loading torch."""

import ctypes
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

PROBE_TIMEOUT_S = 20.0


def why_not() -> str | None:
    """The reason why the `gpu` evaluator cannot work here, or None where it can."""
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        return "no NVIDIA device"
    if not _torch_has_cuda():
        return "an NVIDIA device, but the installed torch is built without CUDA"
    return None if devices() else "an NVIDIA device, but its driver does not start or finds none"


def devices() -> int:
    """How many devices the CUDA driver counts; 0 where it does not start.

    Asked in a process of its own: a driver once started cannot be used by children of the process any more.
    """
    probe = [sys.executable, "-c", "import sys; from launcher.cuda import _count; sys.exit(_count())"]
    try:
        return max(subprocess.run(probe, timeout=PROBE_TIMEOUT_S, cwd=Path(__file__).parent.parent).returncode, 0)
    except subprocess.TimeoutExpired:
        return 0


def _count() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    found = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(found)) != 0:
        return 0
    return min(found.value, 100)


def _torch_has_cuda() -> bool:
    """Whether the installed torch carries its CUDA library; reads files, imports nothing."""
    spec = util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    if (Path(spec.origin).parent / "lib" / "libtorch_cuda.so").exists():
        return True
    return "+cu" in metadata.version("torch")
