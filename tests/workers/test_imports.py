"""What a worker process loads."""

import subprocess
import sys


def test_the_worker_loads_no_torch() -> None:
    script = (
        "import sys, workers.tasks, workers.__main__, workers.reaper\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'torch', 'triton', 'flask', 'app'}))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
