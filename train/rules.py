"""Which rules tell of a mistake and which of a way around the task, by the ids in which the server names them."""

from __future__ import annotations

from collections.abc import Iterable

# of a source that its author would mend once told
MISTAKES = frozenset(
    {
        "syntax",
        "too-large",
        "nul-byte",
        "no-model-new",
        "no-kernel",
        "not-launched",
        "kernel-language",
        "useless-import",
    }
)
# of work that others did, of a grader that was to be misled, and of more than a kernel needs
WAYS_AROUND = frozenset(
    {
        "between-calls",
        "claimed-time",
        "ctypes",
        "dangerous",
        "decoy",
        "dynamic-code",
        "dynamic-import",
        "fallback",
        "file",
        "foreign-kernel",
        "grader",
        "introspection",
        "kernel-share",
        "kernels-beside",
        "late-output",
        "network",
        "no-own-kernel",
        "patching",
        "precision-downgrade",
        "process",
        "reference-use",
        "roofline",
        "settings",
        "slower-when-traced",
        "tensor-subclass",
        "torch-compile",
        "torch-in-forward",
    }
)


def to_read(rules: Iterable[str]) -> list[str]:
    """Those that somebody should look into, sorted: all but mistakes, so that a newer server's are among them."""
    return sorted(set(rules) - MISTAKES)


def kind_of(rule: str) -> str:
    """What a rule tells of, in a word or two."""
    if rule in MISTAKES:
        return "mistake"
    return "way around" if rule in WAYS_AROUND else "rule unknown here"
