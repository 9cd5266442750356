"""From the record of a call to the commands that build it: which run beside each other, which wait for which."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from evaluator.build import flags
from evaluator.build.calls import CUDA_SUFFIXES, ExtensionCall
from evaluator.build.light import BLAME, FOLDER, SUPPLIED_FOLDER, light_headers, supplied_headers
from evaluator.build.toolchain import Toolchain
from evaluator.errors import GraderFault

#: What torch's own builder defines for nvcc.
_TORCH_NVCC: Final = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)


@dataclass(frozen=True)
class Step:
    """One command, run in the folder of its extension; `after` names the steps that it needs.

    `otherwise` is tried where the command fails and says something that matches `otherwise_if`.
    """

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    is_nvcc: bool = False
    otherwise: tuple[str, ...] = ()
    otherwise_if: str = ""


@dataclass(frozen=True)
class Plan:
    """How one extension is built: `files` (name, text) are written first, `product` is what is left in the end."""

    call: ExtensionCall
    files: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    product: str

    def to_job(self) -> dict[str, Any]:
        """What the confined child needs to know."""
        steps = [asdict(step) for step in self.steps]
        return {"digest": self.call.digest, "files": self.files, "steps": steps, "product": self.product}


def architectures(arch_list: Iterable[str]) -> tuple[str, ...]:
    """`sm_90`, `9.0` and `90` alike as `90`; `9.0a` as `90a`."""
    return tuple(arch.removeprefix("sm_").removeprefix("compute_").replace(".", "") for arch in arch_list)


def plan(call: ExtensionCall, tools: Toolchain, arch_list: Iterable[str], header_folder: str | None) -> Plan:
    """The commands that build `call`. `header_folder` holds a precompiled torch/extension.h for the call's own flags.

    Raises flags.FlagError for the candidate's faults and GraderFault where there is no nvcc.
    """
    files, steps = list(call.units), []
    for file, text in call.units:
        if not file.endswith(CUDA_SUFFIXES):
            steps.append(_host_step(file, call, tools, header_folder))
            continue
        light = light_headers(text, tools)
        files += [(f"{file}.{name}", content) for name, content in light]
        steps.append(_cuda_step(file, call, tools, arch_list, f"{file}.{FOLDER}" if light else None))
    product = f"{call.name}.so"
    link = (tools.cxx, *(f"{file}.o" for file, _ in call.units), "-shared", *flags.link_flags(call.ldflags))
    link = (*link, *tools.link_flags(cuda=call.with_cuda), "-o", product)
    steps.append(Step("link", link, tuple(step.name for step in steps)))
    return Plan(call, (*files, *supplied_headers(tools)), tuple(steps), product)


def _host_step(file: str, call: ExtensionCall, tools: Toolchain, header_folder: str | None) -> Step:
    return Step(file, (*_cxx(call, tools, header_folder), "-c", file, "-o", f"{file}.o"))


def _cuda_step(
    file: str, call: ExtensionCall, tools: Toolchain, arch_list: Iterable[str], light_folder: str | None
) -> Step:
    whole = (*_nvcc(call, tools, arch_list), "-c", file, "-o", f"{file}.o")
    if light_folder is None:
        return Step(file, whole, is_nvcc=True)
    light = (whole[0], f"-I{light_folder}", *whole[1:])
    return Step(file, light, is_nvcc=True, otherwise=whole, otherwise_if=BLAME)


def host_command(tools: Toolchain, cflags: tuple[str, ...], *, cuda: bool) -> tuple[str, ...]:
    """g++ with everything but the name of the extension, which a precompiled header may not depend on."""
    return (
        tools.cxx,
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        *tools.include_flags(cuda=cuda),
        "-fPIC",
        f"-std={tools.cxx_standard}",
        *cflags,
    )


def _cxx(call: ExtensionCall, tools: Toolchain, header_folder: str | None) -> tuple[str, ...]:
    command = host_command(tools, flags.host_flags(call.cflags), cuda=call.with_cuda)
    ahead = (f"-I{header_folder}",) if header_folder else ()
    return (*command[:1], *ahead, *command[1:], f"-DTORCH_EXTENSION_NAME={call.name}", "-isystem", SUPPLIED_FOLDER)


def _nvcc(call: ExtensionCall, tools: Toolchain, arch_list: Iterable[str]) -> tuple[str, ...]:
    if tools.nvcc is None:
        raise GraderFault("no_nvcc", "CUDA sources need nvcc, which this machine does not have", retryable=True)
    wanted = flags.cuda_flags(call.cuda_cflags)
    standard = () if any("-std" in flag for flag in wanted.flags) else (f"-std={tools.cxx_standard}",)
    return (
        tools.nvcc,
        f"-ccbin={tools.cxx}",
        f"-DTORCH_EXTENSION_NAME={call.name}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        *tools.include_flags(cuda=True),
        "-isystem",
        SUPPLIED_FOLDER,
        *_TORCH_NVCC,
        *_generate(architectures(arch_list), wanted.specific),
        "-Xcompiler",
        "-fPIC",
        *wanted.flags,
        *standard,
    )


def _generate(arch_list: tuple[str, ...], specific: frozenset[str]) -> list[str]:
    """One binary per architecture, in the variant (90a for 90) that the submission names."""
    chosen = [next((variant for variant in sorted(specific) if variant[:-1] == arch), arch) for arch in arch_list]
    return [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in chosen]
