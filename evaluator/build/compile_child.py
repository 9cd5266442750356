"""`python -m evaluator.build.compile_child`: runs the compilers of one or more plans, confined, and sends the products.

It knows nothing of candidates' Python: what it is given are source texts and commands that the trusted side chose.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from evaluator.build.confined import Emit, serve
from evaluator.build.nvcc import SplitCommands, split

OUTPUT_BYTES = 256 * 1024
Said = tuple[int, str]


def work(job: dict[str, Any], emit: Emit) -> None:
    """Build each plan in a folder of its own; stop at the first plan that fails."""
    slots = ThreadPoolExecutor(max_workers=job["jobs"])
    for plan in job["plans"]:
        if not _build(plan, emit, slots):
            break


def _build(plan: dict[str, Any], emit: Emit, slots: ThreadPoolExecutor) -> bool:
    folder = Path(tempfile.mkdtemp(dir=".")).resolve()
    for name, text in plan["files"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, errors="surrogatepass")
    succeeded = _run_steps(plan, folder, emit, slots)
    if succeeded:
        emit({"product": plan["digest"]}, (folder / plan["product"]).read_bytes())
    shutil.rmtree(folder)
    return succeeded


def _run_steps(plan: dict[str, Any], folder: Path, emit: Emit, slots: ThreadPoolExecutor) -> bool:
    """Start each step when those that it needs are done; after a failure start nothing, but hear the others out."""
    waiting, done, succeeded = list(plan["steps"]), set[str](), True
    running: dict[Future[Said], tuple[str, float]] = {}
    with ThreadPoolExecutor(max_workers=len(waiting)) as steps:
        while running or (waiting and succeeded):
            for step in [step for step in waiting if succeeded and done.issuperset(step["after"])]:
                waiting.remove(step)
                running[steps.submit(_run_step, step, folder, slots)] = (step["name"], time.monotonic())
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name, began = running.pop(future)
                status, output = future.result()
                seconds = time.monotonic() - began
                emit({"step": name, "digest": plan["digest"], "status": status, "output": output, "seconds": seconds})
                done.add(name)
                succeeded = succeeded and status == 0
    return succeeded


def _run_step(step: Mapping[str, Any], folder: Path, slots: ThreadPoolExecutor) -> Said:
    """The step's command; its other one where the first fails in a way that the other may mend."""
    said = _run_command(step["command"], folder, slots, is_nvcc=step["is_nvcc"])
    if said[0] != 0 and step["otherwise"] and re.search(step["otherwise_if"], said[1]):
        said = _run_command(step["otherwise"], folder, slots, is_nvcc=step["is_nvcc"])
    return said


def _run_command(command: Sequence[str], folder: Path, slots: ThreadPoolExecutor, *, is_nvcc: bool) -> Said:
    if is_nvcc:
        apart = split(_execute([*command, "--dryrun", "--keep", "--keep-dir", "."], folder, None)[1])
        module_id = f"_{hashlib.sha256(repr(command).encode()).hexdigest()[:16]}_kernel_grader"
        said = _run_apart(apart, module_id, folder, slots) if apart else None
        if said is not None:
            return said
    return slots.submit(_execute, command, folder, None).result()


def _run_apart(commands: SplitCommands, module_id: str, folder: Path, slots: ThreadPoolExecutor) -> Said | None:
    """Both front ends at once; None where something fails without saying why, so that nvcc itself may try."""
    (folder / commands.id_file).write_text(module_id)
    environment = {**os.environ, **commands.environment}
    chains = [commands.host, *commands.devices]
    said = [future.result() for future in [slots.submit(_execute_all, chain, folder, environment) for chain in chains]]
    if all(status == 0 for status, _ in said):
        said.append(slots.submit(_execute_all, commands.join, folder, environment).result())
    failed = next(((status, output) for status, output in said if status != 0), None)
    if failed is None:
        return 0, "".join(output for _, output in said)
    return failed if "error" in failed[1] else None


def _execute_all(lines: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Said:
    output = ""
    for line in lines:
        status, more = _execute(["/bin/sh", "-c", line], folder, environment)
        output += more
        if status != 0:
            return status, output
    return 0, output


def _execute(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None) -> Said:
    """Run one command; what it says goes to a file, so that a talkative compiler cannot fill our memory."""
    with tempfile.TemporaryFile(dir=folder) as said:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
        said.seek(0)
        return done.returncode, said.read(OUTPUT_BYTES).decode(errors="replace")


if __name__ == "__main__":
    serve(work)
