"""Which compiler flags a submission may set: those that change code, none that name files, programs or plugins."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

#: No character that a shell would read: nvcc hands its commands to one.
_DEFINITION: Final = r"-[DU][A-Za-z_]\w*(=[\w.+:,/-]*)?"

#: For g++, and for what nvcc hands on to it.
_HOST: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O([0-3sgz]|fast)?",
        r"-std=(c|gnu)\+\+(14|17|20|23)",
        _DEFINITION,
        r"-W(no-)?[a-z0-9][a-z0-9+-]*(=[\w-]+)?",
        r"-f(?!plugin|dump|profile|auto-profile|use-|lto-|module|pch|diagnostics-format|debug|sanitize|wrapper)[a-z0-9][a-z0-9=_-]*",
        r"-m[a-z0-9][\w.=-]*",
        r"-(w|g[0-3]?|pipe|pthread|shared|rdynamic|Wall|Wextra)",
    )
)

#: For nvcc itself. Preprocessor flags are shared with the host's.
_CUDA: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O[0-3]",
        r"-?-std[= ]?=?c\+\+(14|17|20)",
        _DEFINITION,
        r"--?(use_fast_math|expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|extra-device-vectorization)",
        r"--?(lineinfo|generate-line-info|restrict|resource-usage|res-usage|keep-device-functions|w|disable-warnings)",
        r"--?(fmad|ftz|prec-div|prec-sqrt)=(true|false)",
        r"--?maxrregcount=\d+",
        r"--?default-stream=(legacy|per-thread)",
        r"--?(ptxas-options|Xptxas)=[\w,.=-]+",
        r"--?(diag-suppress|diag_suppress)[= ]?[\d,]+",
        r"-(Xptxas)=?[\w,.=-]+",
        r"-(m64|std=gnu\+\+17)",
    )
)
_PTXAS_WORDS: Final = re.compile(r"(-?-?[\w-]+(=[\w.-]+)?)(,-?-?[\w-]+(=[\w.-]+)?)*")

#: nvcc flags that take their value as a word of its own -> what the value must look like.
_CUDA_PAIRS: Final = {
    "-Xptxas": _PTXAS_WORDS,
    "--ptxas-options": _PTXAS_WORDS,
    "-maxrregcount": re.compile(r"\d+"),
    "--maxrregcount": re.compile(r"\d+"),
    "-std": re.compile(r"c\+\+(14|17|20)"),
    "-diag-suppress": re.compile(r"[\d,]+"),
    "--diag-suppress": re.compile(r"[\d,]+"),
    "-fmad": re.compile(r"true|false"),
}
_HOST_PASS = ("-Xcompiler", "--compiler-options")
_ARCH_FLAG: Final = re.compile(r"--?(arch|gencode|gpu-architecture|generate-code|code|gpu-code)(=.*)?")
_SPECIFIC_ARCH: Final = re.compile(r"(?:sm|compute)_(\d+[af])")
_IGNORED: Final = re.compile(r"(--?(verbose|threads|t|split-compile)(=?\d+)?|-v)")

_LINK: Final = re.compile(
    r"-l(cuda|cudart|cudart_static|cublas|cublasLt|cudnn|curand|cusparse|cusolver|cufft|nvrtc|nvToolsExt|cupti"
    r"|m|pthread|dl|rt|gomp|stdc\+\+|c10|c10_cuda|torch|torch_cpu|torch_cuda|torch_python)|-(O[0-3]|pthread|fopenmp|s)"
)


class FlagError(ValueError):
    """A flag that is not allowed; the text is for the candidate's author."""


@dataclass(frozen=True)
class CudaFlags:
    """`specific` holds architectures such as `90a` that the submission asks for by name."""

    flags: tuple[str, ...]
    specific: frozenset[str]


def host_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Flags for g++, one word each. Raises FlagError."""
    words = [word for flag in flags for word in flag.split()]
    return tuple(_allowed(word, _HOST, "extra_cflags") for word in words if not _IGNORED.fullmatch(word))


def link_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Flags for the link. Raises FlagError."""
    words = [word for flag in flags for word in flag.split()]
    return tuple(_allowed(word, (_LINK,), "extra_ldflags") for word in words)


def cuda_flags(flags: Iterable[str]) -> CudaFlags:
    """Flags for nvcc. Architectures are the grader's to choose, but variants such as sm_90a are noted. FlagError."""
    kept: list[str] = []
    specific: set[str] = set()
    words = iter([word for flag in flags for word in flag.split()])
    for word in words:
        option, _, value = word.partition("=")
        if _ARCH_FLAG.fullmatch(word):
            specific.update(_SPECIFIC_ARCH.findall(word if value else next(words, "")))
        elif option in _HOST_PASS:
            kept += _host_pass(value or next(words, ""))
        elif word in _CUDA_PAIRS:
            kept += _pair(word, words)
        elif not _IGNORED.fullmatch(word):
            kept.append(_allowed(word, _CUDA, "extra_cuda_cflags"))
    return CudaFlags(tuple(kept), frozenset(specific))


def _host_pass(value: str) -> Iterator[str]:
    for word in value.strip("'\"").split(","):
        yield from ("-Xcompiler", _allowed(word.strip("'\""), _HOST, "extra_cuda_cflags: -Xcompiler"))


def _pair(option: str, words: Iterator[str]) -> tuple[str, str]:
    value = next(words, "")
    if not _CUDA_PAIRS[option].fullmatch(value):
        raise FlagError(f"extra_cuda_cflags: {option} {value!r} is not allowed")
    return option, value


def _allowed(word: str, patterns: Iterable[re.Pattern[str]], argument: str) -> str:
    if not any(pattern.fullmatch(word) for pattern in patterns):
        raise FlagError(
            f"{argument}: {word!r} is not allowed; flags that optimise, define, warn or choose a standard are"
        )
    return word
