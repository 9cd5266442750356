"""What the API's process loads."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import app.wsgi
sys.exit(", ".join(sorted({"torch", "triton", "workers"} & set(sys.modules))) or None)
"""


def test_the_api_loads_neither_torch_nor_workers(tmp_path: Path) -> None:
    environ = {"KERNEL_ENV_DATA_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
