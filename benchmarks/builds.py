"""`python -m benchmarks.builds`: what a new CUDA submission costs here, beside torch's own `load_inline`, same machine.

Builds one kernel with an empty cache both ways, then the honest CUDA corpus, and imports every artifact.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.support import KERNELS, write_record
from evaluator.build import BuildResult, build, prepare
from evaluator.errors import SubmissionFault
from evaluator.limits import Limits

CORPUS = Path(__file__).parents[1] / "tests" / "honest" / "cuda"
IMPORT_BUILT = (
    "import json, sys\nfrom evaluator.runner.extensions import install_resolver\n"
    "source, artifacts = json.load(sys.stdin)\ninstall_resolver(artifacts)\n"
    "exec(compile(source, 'submission', 'exec'), {'__name__': 'submission'})\n"
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--arch", default="9.0")
    options.add_argument("--beside", type=int, default=4, help="corpus files that are built at the same time")
    options.add_argument("--record", type=Path)
    chosen = options.parse_args()
    source = (KERNELS / "cuda" / "relu.py").read_text()
    with tempfile.TemporaryDirectory(prefix="bench-builds-") as folder:
        record: dict[str, Any] = {"benchmark": "builds", "cores": os.cpu_count()}
        record["header_s"] = _timed(lambda: prepare(folder))[0]
        seconds, result = _timed(lambda: _build(source, chosen.arch, folder))
        record["build_s"], record["phases_s"] = seconds, _rounded(result.phases)
        record["build_again_s"] = _timed(lambda: _build(source, chosen.arch, folder))[0]
        record["load_inline_s"] = _timed(lambda: _load_inline(source, folder))[0]
        record["share"] = round(seconds / record["load_inline_s"], 3)
        with ThreadPoolExecutor(chosen.beside) as pool:
            files = sorted(CORPUS.glob("*.py"))
            record["corpus"] = list(pool.map(lambda file: _corpus_file(file, chosen.arch, folder), files))
    write_record(chosen.record, record)
    print(json.dumps(record, indent=1))


def _build(source: str, arch: str, folder: str) -> BuildResult:
    return build(source, arch_list=(arch,), cache_dir=folder, limits=Limits())


def _load_inline(source: str, folder: str) -> None:
    """Torch's own way in a fresh process, the import of torch included."""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": f"{folder}/own", "TORCH_CUDA_ARCH_LIST": "9.0"}
    subprocess.run([sys.executable, "-c", source], env=environment, check=True, capture_output=True)


def _corpus_file(file: Path, arch: str, folder: str) -> dict[str, Any]:
    source = file.read_text()
    began = time.monotonic()
    try:
        result = _build(source, arch, folder)
    except SubmissionFault as fault:
        return {"file": file.name, "fault": fault.feedback}
    seconds = time.monotonic() - began
    order = json.dumps([source, dict(result.artifacts)])
    imported = subprocess.run(
        [sys.executable, "-c", IMPORT_BUILT], input=order, capture_output=True, text=True, check=False
    )
    said = {} if imported.returncode == 0 else {"import": imported.stderr.strip().splitlines()[-1]}
    return {"file": file.name, "build_s": round(seconds, 2), "phases_s": _rounded(result.phases), **said}


def _timed(work: Any) -> tuple[float, Any]:
    began = time.monotonic()
    result = work()
    return round(time.monotonic() - began, 2), result


def _rounded(phases: Any) -> dict[str, float]:
    return {name: round(seconds, 2) for name, seconds in phases.items()}


if __name__ == "__main__":
    main()
