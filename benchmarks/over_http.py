"""`python -m benchmarks.over_http`: grades real kernels through a server of its own, from HTTP to verdict, by phase.

Every case is graded twice: first by a worker that has seen nothing, then by the same worker warm.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.support import KERNELS, parser, write_record

PORT = 8077
START_S = 60.0
GRADE_S = 150.0
CASES = (
    ("level1/19_ReLU", "triton", "triton/relu.py", "correct"),
    ("level1/19_ReLU", "cuda", "cuda/relu.py", "correct"),
    ("level1/23_Softmax", "triton", "triton/softmax.py", "correct"),
    ("level1/1_Square_matrix_multiplication_", "triton", "triton/matmul.py", "correct"),
)
WRONG = (
    ("identity", lambda code: code.replace("return y", "return x.clone()"), "incorrect"),
    ("syntax error", lambda code: code.replace("def forward(self, x):", "def forward(self, x)"), "format_violation"),
    ("endless loop", lambda code: code.replace("y = torch.empty_like(x)", "while True: pass"), "timeout"),
    ("a right one after it", lambda code: code, "correct"),
)


def main() -> int:
    """Exit code 1 where a verdict is not the expected one."""
    made = parser(__doc__)
    made.add_argument("--skip-cuda", action="store_true", help="where there is no nvcc")
    options = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        server = _start(options, folder)
        try:
            _wait_until_ready(server)
            rows = _grade_all(options)
        except (OSError, TimeoutError):
            print(Path(folder, "server.log").read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            server.terminate()
            server.wait(timeout=60)
    environment = next(row["environment"] for row in rows if row["environment"])
    record = {"benchmark": "over_http", "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count()}
    write_record(options.record, {**record, "environment": environment, "rows": rows})
    _print(rows, environment)
    return 0 if all(row["verdict"] == row["expected"] for row in rows) else 1


def _start(options: Any, folder: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PORT": str(PORT),
        "KERNELBENCH_DIR": options.tasks_dir,
        "KERNEL_ENV_EVALUATOR": options.evaluator,
        "KERNEL_ENV_DATA_DIR": f"{folder}/data",
        "KERNEL_ENV_FIRST_CALL_S": "20",
    }
    log = open(f"{folder}/server.log", "wb")  # noqa: SIM115 - it lives as long as the server
    return subprocess.Popen([sys.executable, "-m", "launcher"], env=environment, stdout=log, stderr=log)


def _wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            _get("/healthz")
            return
        except OSError as error:
            if server.poll() is not None or time.monotonic() > end:
                raise TimeoutError("the server did not start") from error
            time.sleep(0.5)


def _grade_all(options: Any) -> list[dict[str, Any]]:
    rows = []
    for round_name in ("cold", "warm"):
        for task_id, language, file, expected in CASES:
            if language == "triton" or not options.skip_cuda:
                rows.append(_grade(f"{language} {round_name}", task_id, language, _code(file), expected))
    for name, change, expected in WRONG:
        rows.append(_grade(name, "level1/19_ReLU", "triton", change(_code("triton/relu.py")), expected))
    return rows


def _grade(name: str, task_id: str, language: str, code: str, expected: str) -> dict[str, Any]:
    started = time.monotonic()
    body = json.dumps({"task_id": task_id, "language": language, "code": code}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/submissions?wait=60", body, method="POST")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=90) as response:
        answer = json.load(response)
    while answer["status"] not in ("completed", "failed", "expired", "cancelled"):
        if time.monotonic() - started > GRADE_S:
            raise TimeoutError(f"no verdict within {GRADE_S:g} s: {answer['status']}")
        answer = _get(f"/submissions/{answer['id']}?wait=60")
    result = answer["result"] or {}
    return {
        "name": name,
        "task": task_id,
        "expected": expected,
        "verdict": answer["verdict"],
        "error": answer["error"],
        "reward": answer["reward"],
        "speedup": result.get("speedup"),
        "t_ref_ms": result.get("t_ref_ms"),
        "t_new_ms": result.get("t_new_ms"),
        "feedback": (result.get("feedback") or "")[:300],
        "wall_s": round(time.monotonic() - started, 2),
        "timings": answer["timings"],
        "environment": answer["environment"],
    }


def _code(file: str) -> str:
    return (KERNELS / file).read_text()


def _get(path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=90) as response:
        return json.load(response)


def _print(rows: list[dict[str, Any]], environment: dict[str, Any]) -> None:
    for row in rows:
        phases = row["timings"].get("phases") if row["timings"] else None
        mark = "ok  " if row["verdict"] == row["expected"] else "FAIL"
        speedup = f"{row['speedup']:.3f}" if row["speedup"] else "-"
        print(f"{mark} {row['name']:20} {row['task']:40} {row['wall_s']:7.2f} s  {row['verdict']}  speedup {speedup}")
        print(f"       {phases}")
        if row["verdict"] != row["expected"]:
            print(f"       {row['error']} {row['feedback']}")
    print(f"on {environment.get('gpu') or 'cpu'}, torch {environment.get('torch')}, triton {environment.get('triton')}")


if __name__ == "__main__":
    sys.exit(main())
