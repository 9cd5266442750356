"""`service_packages.py PYPROJECT [--all]`: the dependencies, one a line; without `--all` none of the evaluator's.

The API, the reaper and Flower import no torch (a test holds it), which makes their image a tenth of the size.
"""

import re
import sys
import tomllib
from pathlib import Path

EVALUATOR = {"torch", "triton", "numpy", "einops", "ninja"}


def packages(pyproject, *, everything):
    """The requirements of the project's `dependencies`."""
    wanted = tomllib.loads(Path(pyproject).read_text())["project"]["dependencies"]
    return [one for one in wanted if everything or re.split(r"[^A-Za-z0-9-]", one)[0] not in EVALUATOR]


if __name__ == "__main__":
    print("\n".join(packages(sys.argv[1], everything="--all" in sys.argv[2:])))
