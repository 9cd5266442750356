"""`python -m benchmarks.kernelbench_child SRC`: one evaluation by KernelBench's own evaluator, in a fresh process.

`SRC` is the `src` folder of a KernelBench checkout. Reads `{"task": SOURCE, "kernel": SOURCE, "trials": N,
"timings": N}` on standard input; the last line that it prints is JSON.
"""

import contextlib
import importlib
import importlib.util
import json
import sys
import time
from types import ModuleType

# What KernelBench imports for its prompts and data sets and does not use in an evaluation.
UNUSED_THERE = ("openai", "litellm", "dotenv", "tqdm", "datasets", "pydra")


def main(source_dir: str) -> None:
    order = json.load(sys.stdin)
    replaced = [name for name in UNUSED_THERE if importlib.util.find_spec(name) is None]
    for name in replaced:
        sys.modules[name] = _empty(name)
    sys.path.insert(0, source_dir)
    with contextlib.redirect_stdout(sys.stderr):
        started = time.monotonic()
        evaluator = importlib.import_module("kernelbench.eval")
        imported = time.monotonic()
        found = evaluator.eval_kernel_against_ref(
            original_model_src=order["task"],
            custom_model_src=order["kernel"],
            num_correct_trials=order["trials"],
            num_perf_trials=order["timings"],
            measure_performance=True,
            backend="triton",
            device=0,
        )
        ended = time.monotonic()
    print(
        json.dumps(
            {
                "import_s": round(imported - started, 2),
                "evaluation_s": round(ended - imported, 2),
                "compiled": found.compiled,
                "correct": found.correctness,
                "t_new_ms": found.runtime,
                "t_ref_ms": found.ref_runtime,
                "metadata": str(found.metadata)[:500],
                "replaced_imports": replaced,
            }
        )
    )


def _empty(name: str) -> ModuleType:
    """A module that lets itself be imported from, and does nothing."""

    class Empty(ModuleType):
        def __getattr__(self, attribute: str) -> object:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return lambda *arguments, **keywords: None

    return Empty(name)


if __name__ == "__main__":
    main(sys.argv[1])
