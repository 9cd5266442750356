"""Runs honest kernels against their references on a GPU at full size: `python run_kernels.py FILE…`, a JSON line each.

No judge and no sandbox: this says whether the corpus itself is right. Extensions build side by side.
"""

import importlib.util
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
TRIALS = 2


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference(path: Path) -> dict[str, Any]:
    from evaluator.tasks import Catalogue, source_for
    from tests.honest.corpus import Honest

    names: dict[str, Any] = {"__name__": "reference"}
    exec(source_for(Catalogue(ROOT / "kernelbench_tasks").get(Honest.read(path).task), "cuda"), names)
    return names


def compare(names: dict[str, Any], candidate: ModuleType) -> dict[str, Any]:
    """Worst absolute error over the largest expected magnitude, whether `allclose` at 1e-2 holds, seconds of a call."""
    import torch

    models = []
    for model in (names["Model"], candidate.ModelNew):
        torch.manual_seed(1)
        models.append(model(*names["get_init_inputs"]()))
    models[1].load_state_dict(models[0].state_dict(), strict=False)
    worst, close, elapsed_s = 0.0, True, 0.0
    for _ in range(TRIALS):
        inputs = names["get_inputs"]()
        expected = models[0](*inputs)
        started = time.perf_counter()
        found = models[1](*inputs)
        torch.cuda.synchronize()
        elapsed_s = time.perf_counter() - started
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        difference = (found.double() - expected.double()).abs()
        worst = max(worst, float(difference.max() / expected.double().abs().max()))
        close = close and bool((difference <= 1e-2 + 1e-2 * expected.double().abs()).all())
    return {"relative_error": worst, "close": close, "elapsed_s": round(elapsed_s, 4)}


def run(files: list[Path]) -> None:
    import torch

    with ThreadPoolExecutor(len(files)) as builders:
        candidates = [builders.submit(load, path) for path in files]
        for path, candidate in zip(files, candidates, strict=True):
            try:
                with torch.no_grad(), torch.device("cuda"):
                    result = compare(reference(path), candidate.result())
            except Exception as error:  # noqa: BLE001 - one broken kernel must not hide the others
                result = {"error": f"{type(error).__name__}: {error}"[-600:]}
            print(json.dumps({"file": f"{path.parent.name}/{path.name}", **result}), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    run([Path(file) for file in sys.argv[1:]])
