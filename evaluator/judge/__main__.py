"""`python -m evaluator.judge LISTENER_FD PARENT_PID`, with the configuration as JSON on standard input."""

import json
import os
import socket
import sys
from pathlib import Path

from evaluator.config import EvaluatorConfig
from evaluator.runner.process import die_with_parent

# Lanes are threads of one interpreter: the usual 5 ms are long beside what a lane that times waits for.
SWITCH_INTERVAL_S = 0.0002


def main(listener_fd: int, parent_pid: int) -> None:
    """Serve until the worker that started this process ends."""
    die_with_parent(parent_pid)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    config = EvaluatorConfig.from_json(json.load(sys.stdin))
    if config.kind == "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = _visible_device(config.gpu_index)
    Path(config.state_dir).mkdir(parents=True, exist_ok=True)
    from evaluator.judge.grade import Judge
    from evaluator.judge.server import STUCK_AFTER_S, serve

    limits = config.limits
    stuck_after_s = limits.build_s + limits.run_s * config.lanes + STUCK_AFTER_S
    serve(socket.socket(fileno=listener_fd), Judge(config), lanes=config.lanes, stuck_after_s=stuck_after_s)


def _visible_device(index: int) -> str:
    """The entry of CUDA_VISIBLE_DEVICES that `index` counts, where the environment already narrows the choice."""
    present = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not present:
        return str(index)
    devices = present.split(",")
    if index >= len(devices):
        raise SystemExit(f"GPU {index} is not among CUDA_VISIBLE_DEVICES={present}")
    return devices[index]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
