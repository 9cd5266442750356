"""The parts of this host that grading needs: GPU, compilers, walls, tasks, disk."""

import json
import shutil
import subprocess
import sys

from evaluator.build.toolchain import Toolchain
from evaluator.errors import GraderFault
from evaluator.sandbox import Isolation
from evaluator.tasks import Catalogue, TaskSetError
from grading.doctor.check import Check
from grading.settings import REPOSITORY, Settings

TIMEOUT_S = 60.0
DISK_MIN_BYTES = 2 * 1024**3
QUERY = ["nvidia-smi", "--query-gpu=index,name,driver_version", "--format=csv,noheader"]


def gpu(settings: Settings) -> Check:
    if settings.evaluator != "gpu":
        return Check.ok("gpu", f"not needed by the {settings.evaluator} evaluator")
    try:
        listed = subprocess.run(QUERY, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        remedy = "install NVIDIA's driver, give the container its devices, or set KERNEL_ENV_EVALUATOR=cpu"
        return Check.failure("gpu", f"nvidia-smi finds none: {error}", remedy)
    lines = [line.strip() for line in listed.splitlines() if line.strip()]
    present = {int(line.partition(",")[0]) for line in lines}
    absent = [number for number in settings.gpus if number not in present]
    if absent:
        remedy = f"let KERNEL_ENV_GPUS name some of {', '.join(map(str, sorted(present))) or 'those that there are'}"
        return Check.failure("gpu", f"there is no GPU {', '.join(map(str, absent))}; found {'; '.join(lines)}", remedy)
    return Check.ok("gpu", "; ".join(lines))


def compiler(settings: Settings) -> Check:
    if settings.evaluator == "mock":
        return Check.ok("compiler", "not needed by the mock evaluator")
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        remedy = "install one (Debian: `apt install build-essential`); Triton and the judge build small helpers"
        return Check.failure("compiler", "no C compiler on PATH", remedy)
    try:
        tools = Toolchain.here()
    except GraderFault as fault:
        remedy = "install g++ (Debian: `apt install build-essential`); without it no CUDA source can be graded"
        return Check.warning("compiler", fault.detail, remedy)
    if tools.nvcc is None and settings.evaluator == "gpu":
        remedy = "install the CUDA toolkit of torch's CUDA version, or set CUDA_HOME; Triton works without"
        return Check.warning("compiler", f"{tools.cxx_version}; no nvcc, so CUDA sources cannot be graded", remedy)
    return Check.ok("compiler", "; ".join(filter(None, [tools.cxx_version, tools.nvcc_version])))


def isolation(settings: Settings) -> Check:
    """Builds the walls around an empty process and counts those that stand."""
    if settings.evaluator == "mock":
        return Check.ok("isolation", "not needed by the mock evaluator, which runs nothing")
    command = [sys.executable, "-m", "evaluator.sandbox"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=REPOSITORY, check=True)
        found = Isolation.from_json(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        said = (getattr(error, "stderr", None) or "").strip()[-500:]
        return Check.failure("isolation", f"no process could be confined: {error} {said}", "see docs/confinement.md")
    missing = {name: wall.detail for name, wall in found.walls.items() if not wall.in_force}
    if not missing:
        return Check.ok("isolation", f"all {len(found.walls)} walls stand")
    detail = "; ".join(f"no {name}: {reason}" for name, reason in missing.items())
    if required := found.missing(settings.require_isolation):
        remedy = f"KERNEL_ENV_REQUIRE_ISOLATION asks for {', '.join(required)}: docs/confinement.md says what they need"
        return Check.failure("isolation", detail, remedy)
    remedy = "run workers as root, or in a container that may make namespaces and cgroups: see docs/confinement.md"
    return Check.warning("isolation", detail, remedy)


def tasks(settings: Settings) -> Check:
    try:
        found = Catalogue(settings.kernelbench_dir, settings.added_tasks_dir)
        return Check.ok("tasks", f"{len(found)} in {settings.kernelbench_dir}")
    except (TaskSetError, OSError) as error:
        remedy = "let KERNELBENCH_DIR name a folder of level1, level2, … or a KernelBench checkout"
        return Check.failure("tasks", str(error), remedy)


def disk(settings: Settings) -> Check:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free for {settings.data_dir}"
    if free < DISK_MIN_BYTES:
        return Check.warning("disk", detail, "make room: caches of builds, logs and an embedded database grow there")
    return Check.ok("disk", detail)
