"""Triton's helper module is built once for all runners, against a stand-in for the driver's library."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import triton.backends.nvidia

SCRIPT = """
import json, os, sys
from evaluator.runner.preload import share_triton_helpers
from triton.backends.nvidia import driver

share_triton_helpers()
os.environ["TRITON_CACHE_DIR"] = sys.argv[1]  # as a runner's, empty
first, second = driver.CudaUtils(), driver.CudaUtils()
print(json.dumps({
    "usable": callable(first.load_binary) and driver.PyCUtensorMap is not None,
    "one": first is second,
    "built": os.listdir(sys.argv[1]),
}))
"""


def stand_in(folder: Path) -> None:
    """A libcuda with every function that the helper module may ask for by name."""
    source = Path(triton.backends.nvidia.__file__).with_name("driver.c").read_text()
    names = sorted(set(re.findall(r"\bcu[A-Z]\w+", source)))
    code = "".join(f"int {name}(void) {{ return 1; }}\n" for name in names)
    library = folder / "libcuda.so.1"
    command = ["gcc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", str(library), "-Wl,-soname,libcuda.so.1"]
    subprocess.run(command, input=code, text=True, check=True, timeout=120)
    (folder / "libcuda.so").symlink_to(library.name)


def test_no_runner_builds_the_helpers_again(tmp_path: Path) -> None:
    driver, cache = tmp_path / "driver", tmp_path / "cache"
    driver.mkdir()
    cache.mkdir()
    stand_in(driver)
    environment = {**os.environ, "TRITON_LIBCUDA_PATH": str(driver), "LD_LIBRARY_PATH": str(driver)}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-c", SCRIPT, str(cache)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"usable": True, "one": True, "built": []}


def test_without_a_driver_everybody_builds_for_himself(tmp_path: Path) -> None:
    script = SCRIPT.split("os.environ[")[0] + "print(driver.CudaUtils.__init__.__name__)"
    environment = {**os.environ, "TRITON_LIBCUDA_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "__init__"), done.stderr[-2000:]
