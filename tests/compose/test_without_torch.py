"""The image of the API has no torch: it serves and takes in all the same."""

import os
import subprocess
import sys
from pathlib import Path

from launcher.commands import REPOSITORY
from tests.compose.test_images import packages

# as if what the image leaves out were not installed: neither found nor imported
PROGRAM = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from evaluator.tasks.catalogue import Catalogue
from grading.settings import load
import app.wsgi, workers.reaper, workers.app, grading.cli.__main__
print(Catalogue(load().kernelbench_dir).servable("level1/19_ReLU").task_id)
"""


def test_tasks_are_served_where_nothing_could_run_them(tmp_path: Path) -> None:
    everything, service = packages(everything=True), packages(everything=False)
    absent = {one.partition("=")[0].partition(">")[0] for one in set(everything) - set(service)}
    assert "torch" in absent
    environment = {**os.environ, "KERNEL_ENV_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM.format(absent=absent)]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "level1/19_ReLU"
