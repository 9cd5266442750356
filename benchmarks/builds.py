"""`python -m benchmarks.builds`: what a new CUDA submission costs here, beside torch's own `load_inline`, same machine.

Builds one kernel with an empty cache both ways, then the honest CUDA corpus, and imports every artifact.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.support import KERNELS, write_record
from evaluator.build import BuildResult, build, prepare
from evaluator.errors import SubmissionFault
from evaluator.limits import Limits

SHARE_MAX = 0.4
CORPUS = Path(__file__).parents[1] / "tests" / "honest" / "cuda"
IMPORT_BUILT = (
    "import json, sys\nfrom evaluator.runner.extensions import install_resolver\n"
    "source, artifacts = json.load(sys.stdin)\ninstall_resolver(artifacts)\n"
    "exec(compile(source, 'submission', 'exec'), {'__name__': 'submission'})\n"
)


def main() -> int:
    """Exit code 0 if a new build takes at most SHARE_MAX of `load_inline`'s time and all sources build."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--arch", default="9.0")
    options.add_argument("--beside", type=int, default=4, help="corpus files that are built at the same time")
    options.add_argument("--record", type=Path)
    chosen = options.parse_args()
    source = (KERNELS / "cuda" / "relu.py").read_text()
    with tempfile.TemporaryDirectory(prefix="bench-builds-") as folder:
        record = _head(chosen.arch)
        record["header_s"] = _timed(lambda: prepare(folder))[0]
        seconds, result = _timed(lambda: _build(source, chosen.arch, folder))
        record["build_s"], record["phases_s"] = seconds, _rounded(result.phases)
        record["build_again_s"] = _timed(lambda: _build(source, chosen.arch, folder))[0]
        record["load_inline_s"] = _timed(lambda: _load_inline(source, chosen.arch, folder))[0]
        record["share"] = round(seconds / record["load_inline_s"], 3)
        with ThreadPoolExecutor(chosen.beside) as pool:
            files = sorted(CORPUS.glob("*.py"))
            record["corpus"] = list(pool.map(lambda file: _corpus_file(file, chosen.arch, folder), files))
    write_record(chosen.record, record)
    return _show(record)


def _head(arch: str) -> dict[str, Any]:
    return {
        "benchmark": "builds",
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "torch": metadata.version("torch"),
        "arch": arch,
    }


def _show(record: dict[str, Any]) -> int:
    """Print the table; 0 if a new build keeps its bound and every file of the corpus builds and imports."""
    failed = [one for one in record["corpus"] if "fault" in one or "import" in one]
    for one in record["corpus"]:
        print(f"{one['file']:45} {one.get('build_s', '-'):>7} s  {one.get('fault') or one.get('import') or ''}"[:160])
    print(f"phases of a new build, in seconds: {record['phases_s']}")
    print(
        f"new {record['build_s']} s, seen before {record['build_again_s']} s, headers once {record['header_s']} s; "
        f"load_inline {record['load_inline_s']} s: share {record['share']:.0%} of at most {SHARE_MAX:.0%}"
    )
    return int(bool(failed) or record["share"] > SHARE_MAX)


def _build(source: str, arch: str, folder: str) -> BuildResult:
    return build(source, arch_list=(arch,), cache_dir=folder, limits=Limits())


def _load_inline(source: str, arch: str, folder: str) -> None:
    """Torch's own way in a fresh process, the import of torch included."""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": f"{folder}/own", "TORCH_CUDA_ARCH_LIST": arch}
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
    sys.exit(main())
