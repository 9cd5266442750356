"""The sentences of the prompt that depend on a setting, as tables."""

from evaluator.config import PrecisionPolicy
from evaluator.limits import Limits
from evaluator.reward import (
    CORRECT_BASE,
    LOG2_SPEEDUP_MAX,
    LOG2_SPEEDUP_MIN,
    PARTIAL_CREDIT,
    ROOFLINE_SCALE,
    RewardMode,
)
from evaluator.submission import Language
from evaluator.tasks.task import Device
from evaluator.verdicts import Stage

KERNELS: dict[Language, str] = {"triton": "Triton kernels", "cuda": "CUDA kernels"}

LANGUAGE_RULES: dict[Language, str] = {
    "triton": "- Language: Triton. At least one function decorated with `@triton.jit`, launched from `forward`; "
    "`triton.autotune` and `triton.heuristics` are welcome.",
    "cuda": "- Language: CUDA C++, built with `torch.utils.cpp_extension.load_inline` when the module is imported. The "
    "CUDA sources hold at least one `__global__` function, which `forward` launches. Build flags are yours to choose.",
}

_ALLOWED = (
    "allocate, make views, change layout, cast, fill, copy and concatenate on the device, and draw random numbers"
)
TORCH_NONE = (
    f"- During `forward` PyTorch may {_ALLOWED}. Arithmetic, reductions, matrix products and every other computation "
    "on tensors must happen in your kernels, also when reached from C++ (`at::`, cuBLAS, cuDNN)."
)
TORCH_REST = (
    "- PyTorch may do what your kernels do not: replace the operators where a kernel of yours gains most. Your own "
    "kernels must do a substantial share of the device's work, and the share is reported."
)

PRECISION: dict[PrecisionPolicy, str] = {
    "reject": "compute as precisely as the reference with TF32 allowed. The relative L2 error against a float64 "
    "computation may be at most three times that of PyTorch with TF32; fp16 or bf16 arithmetic on float32 data is "
    "rejected even where it would pass the tolerance.",
    "mark": "the tolerance below decides; results less precise than TF32 are marked as such.",
}


def torch_rules(level: int) -> str:
    return TORCH_NONE if level <= 2 else TORCH_REST


def device(kind: Device, gpu_name: str | None, language: Language) -> str:
    if kind == "cuda":
        return f"one {gpu_name or 'NVIDIA GPU'}; all tensors are on it"
    if language == "triton":
        return "the CPU, with Triton kernels run by Triton's interpreter; all tensors are on the CPU"
    return "the CPU; CUDA sources are compiled and not run"


def turns(max_turns: int) -> str:
    if max_turns == 1:
        return "this one."
    return f"up to {max_turns}, each judged by itself. After each you are told how far it got and what to repair."


def reward(mode: RewardMode, *, partial_credit: bool) -> str:
    lowest, highest = CORRECT_BASE + LOG2_SPEEDUP_MIN, CORRECT_BASE + LOG2_SPEEDUP_MAX
    by_speedup = (
        f"`{CORRECT_BASE:g} + clamp(log2(speedup), {LOG2_SPEEDUP_MIN:g}, {LOG2_SPEEDUP_MAX:g})`: "
        f"{lowest:g} at the least, {CORRECT_BASE:g} when as fast as the reference, {highest:g} at the most"
    )
    by_roofline = (
        f"`{CORRECT_BASE:g} + {ROOFLINE_SCALE:g} * min(t_min / t_new, 1)`, where t_min is the least time that the work "
        f"can take on this device by its peak arithmetic rate and memory bandwidth, and t_new is your time"
    )
    formula = by_speedup if mode == "speedup" else by_roofline
    wrong = "A source that is not correct earns 0."
    if partial_credit:
        wrong = (
            f"A source that is not correct earns 0, or {PARTIAL_CREDIT[Stage.RUNTIME]:g} where it ran into an error or "
            f"a time limit, or {PARTIAL_CREDIT[Stage.CORRECTNESS]:g} where it ran and was wrong."
        )
    return f"A correct source earns {formula}. {wrong}"


def limits(values: Limits) -> dict[str, str]:
    """The numbers of the template, in the units that it names."""
    return {
        "trials": str(values.correctness_trials),
        "tolerance": f"{values.tolerance:g}",
        "source_kib": f"{values.source_bytes / 1024:g}",
        "build_s": f"{values.build_s:g}",
        "first_call_s": f"{values.first_call_s:g}",
        "call_s": f"{values.call_s:g}",
        "run_s": f"{values.run_s:g}",
        "memory_gib": f"{values.runner_memory_bytes / 1024**3:g}",
    }
