"""Whose kernels ran: the submission's own, torch's data movement, or somebody else's work."""

import re
from dataclasses import dataclass

# What torch launches for the operators that the guard lets through: fills, copies, casts, concatenation, random
# numbers, and the device's own copy and fill engines. Matched against demangled names.
# The engines' copies to the host are not among them: what is computed there is not computed by a kernel.
_ENGINES = re.compile(r"^Mem(cpy (?!DtoH)|set )")
_MOVEMENT = re.compile(
    r"\bat::.*(FillFunctor|copy_kernel_cuda|CatArrayBatchedCopy|distribution_|flip_kernel|roll_cuda|arange_cuda)"
)
# Libraries' kernels, which no submission makes its own by giving a function of its own the same name.
_LIBRARY = re.compile(
    r"\b(?:at|c10|cub|thrust|cutlass|cudnn)::|^(?:maxwell|volta|turing|ampere|hopper)_\w*\d+x\d+"
    r"|^(?:cublas|cudnn|cutlass_\d|nvjet_|sm\d+_xmma)"
)
_ANONYMOUS = "(anonymous namespace)"


@dataclass(frozen=True)
class Provenance:
    """`own_share` is the share of device time in the submission's own kernels; `foreign` names the others' work."""

    own_share: float
    foreign: tuple[str, ...]
    total_ms: float
    kernels: tuple[dict[str, object], ...]


def attribute(traced: tuple[tuple[str, float], ...], own_names: frozenset[str]) -> Provenance:
    """Sort traced `(name, microseconds)` by origin. Own names are those of jit functions and `__global__` functions."""
    by_name: dict[str, list[float]] = {}
    for name, time_us in traced:
        if not _is_spin(name):
            by_name.setdefault(name, []).append(time_us)
    total_us = sum(sum(times) for times in by_name.values())
    kernels, foreign, own_us = [], [], 0.0
    for name, times in sorted(by_name.items(), key=lambda item: -sum(item[1])):
        origin = _origin(name, own_names)
        if origin == "own":
            own_us += sum(times)
        elif origin == "foreign":
            foreign.append(name)
        share = sum(times) / total_us if total_us else 0.0
        kernels.append({"name": name[:200], "origin": origin, "calls": len(times), "time_share": round(share, 4)})
    own_share = own_us / total_us if total_us else 0.0
    return Provenance(own_share, tuple(foreign), total_us / 1e3, tuple(kernels[:32]))


def _origin(name: str, own_names: frozenset[str]) -> str:
    if _ENGINES.search(name):
        return "torch"
    qualified = qualified_name(name)
    if qualified.rpartition("::")[2] in own_names and not _LIBRARY.search(qualified):
        return "own"
    return "torch" if _MOVEMENT.search(name) else "foreign"


def _is_spin(name: str) -> bool:
    """The kernel that we queue ourselves ahead of a timed call."""
    return qualified_name(name).startswith("at::") and "spin_kernel" in name


def qualified_name(name: str) -> str:
    """The function's name with its namespaces in a demangled one: no return type, templates or argument list."""
    depth, kept = 0, []
    for character in name.replace(_ANONYMOUS, "anonymous"):
        if character == "(" and depth == 0:
            break
        depth += character == "<"
        if depth == 0:
            kept.append(character)
        depth -= character == ">"
    words = "".join(kept).split()
    return words[-1] if words else ""
