"""`python -m evaluator.build.compile_child`: runs the compilers of one or more plans, confined, and sends the products.

It knows nothing of candidates' Python: what it is given are source texts and commands that the trusted side chose.
"""

import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from evaluator.build.confined import Emit, serve

OUTPUT_BYTES = 256 * 1024


def work(job: dict[str, Any], emit: Emit) -> None:
    """Build each plan in a folder of its own; stop at the first plan that fails."""
    with ThreadPoolExecutor(max_workers=job["jobs"]) as pool:
        for plan in job["plans"]:
            if not _build(plan, emit, pool):
                break


def _build(plan: dict[str, Any], emit: Emit, pool: ThreadPoolExecutor) -> bool:
    folder = Path(tempfile.mkdtemp(dir="."))
    for name, text in plan["files"]:
        (folder / name).write_text(text, errors="surrogatepass")
    waiting = list(plan["steps"])
    done: set[str] = set()
    running: dict[Future[dict[str, Any]], str] = {}
    succeeded = True
    while running or (waiting and succeeded):
        for step in [step for step in waiting if succeeded and done.issuperset(step["after"])]:
            waiting.remove(step)
            running[pool.submit(_run, step, folder)] = step["name"]
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            name, report = running.pop(future), future.result()
            emit({"step": name, "digest": plan["digest"], **report})
            done.add(name)
            succeeded = succeeded and report["status"] == 0
    if succeeded:
        emit({"product": plan["digest"]}, (folder / plan["product"]).read_bytes())
    shutil.rmtree(folder)
    return succeeded


def _run(step: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run one command; what it says goes to a file, so that a talkative compiler cannot fill our memory."""
    began = time.monotonic()
    with tempfile.TemporaryFile(dir=".") as said:
        # the file size limit of the sandbox bounds what may be written
        status = subprocess.run(
            step["command"], cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, check=False
        ).returncode
        said.seek(0)
        output = said.read(OUTPUT_BYTES).decode(errors="replace")
    return {"status": status, "output": output, "seconds": time.monotonic() - began}


if __name__ == "__main__":
    os.environ.setdefault("TERM", "dumb")
    serve(work)
