"""Whose kernels ran: the submission's own, torch's data movement, or somebody else's work."""

import re
from dataclasses import dataclass

# What torch launches for the operators that the guard lets through: fills, copies, casts, concatenation, random
# numbers, and the device's own copy and fill engines. Matched against demangled names.
_MOVEMENT = re.compile(
    r"^Mem(cpy|set)\b|FillFunctor|direct_copy_kernel|copy_device_to_device|CatArrayBatchedCopy|distribution_"
    r"|distribution_elementwise|unrolled_elementwise_kernel.*(LoadWithCast|copy)|flip_kernel|roll_cuda"
    r"|elementwise_kernel_with_index.*arange|arange_cuda|spin_kernel"
)
_BASE_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:<|\(|$)")


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
        if "spin_kernel" not in name:
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
    if base_name(name) in own_names:
        return "own"
    return "torch" if _MOVEMENT.search(name) else "foreign"


def base_name(name: str) -> str:
    """The function's own name in a demangled one: no return type, namespace, template or argument list."""
    head = name.split("(")[0] if not name.startswith("void (") else name
    depth, kept = 0, []
    for character in head:
        depth += character == "<"
        if depth == 0:
            kept.append(character)
        depth -= character == ">"
    match = _BASE_NAME.search("".join(kept).split("::")[-1].split()[-1] if "".join(kept).split() else "")
    return match.group(1) if match else ""
