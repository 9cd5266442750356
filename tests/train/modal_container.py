"""What a container of `modal_app.Server` does, on this machine: start, grade one source, stop. Runs beside modal.

Prints one JSON object: the answers to a request without a key, and to a submission with it.
"""

import json
import os
import sys

from kernel_grader_client import KernelGrader, Unauthorized

import modal_app


def main(code: str) -> None:
    parts = modal_app.start_server()
    url = f"http://127.0.0.1:{os.environ['PORT']}"
    with KernelGrader(url, "") as stranger:
        try:
            stranger.workers()
            refused = 0
        except Unauthorized as error:
            refused = error.problem.status
    with KernelGrader(url, os.environ["API_KEY"]) as grader:
        graded = grader.grade(code, task_id="level1/19_ReLU")
    parts.stop(60)
    print(json.dumps({"refused": refused, "verdict": graded.verdict, "reward": graded.reward}))


if __name__ == "__main__":
    main(sys.stdin.read())
