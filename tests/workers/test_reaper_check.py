"""The reaper's health check: it follows passes, not the process."""

import os
import subprocess
import sys
import time

import pytest

from tests.services.installation import REPOSITORY, Installation, wait_for


def check(installed: Installation) -> int:
    command = [sys.executable, "-m", "workers.reaper", "--check"]
    environment = {**os.environ, **installed.environment}
    return subprocess.run(command, cwd=REPOSITORY, env=environment, timeout=60, stdout=subprocess.DEVNULL).returncode


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_reaper_that_makes_no_more_passes_is_not_well(installed: Installation) -> None:
    assert check(installed) == 1
    reaper = installed.start_reaper()
    wait_for(lambda: check(installed) == 0, 60, "a first pass", reaper.tail)
    reaper.freeze()
    long_ago = time.time() - 3600
    os.utime(installed.data_dir / "reaper.alive", (long_ago, long_ago))
    assert check(installed) == 1
    reaper.thaw()
    wait_for(lambda: check(installed) == 0, 60, "another pass", reaper.tail)
