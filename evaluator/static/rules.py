"""The table of static rules. Adding one is adding a line here, or a name to forbidden.py."""

from evaluator.static import cuda_kernels, fallback, kernel_language, model, patching, subclasses, triton_kernels, usage
from evaluator.static.forbidden import NAME_RULES
from evaluator.static.rule import Rule
from evaluator.submission import Language

_PLAIN_IMPORT = "Use plain import statements."

COMMON_RULES: tuple[Rule, ...] = (
    Rule(
        "no-model-new",
        model.missing,
        "Define class ModelNew(torch.nn.Module) at module level, with the constructor and forward of Model.",
    ),
    Rule(
        "reference-use",
        model.uses_reference,
        "Write ModelNew from scratch on torch.nn.Module; give it the same parameters by the same names.",
    ),
    *(Rule(rule.rule, usage.uses(rule), rule.remedy, rule.severity) for rule in NAME_RULES),
    Rule("introspection", usage.forbidden_attributes, "Remove it; a kernel needs its inputs only."),
    Rule("dynamic-import", usage.computed_imports, _PLAIN_IMPORT),
    Rule("dynamic-import", usage.star_imports, _PLAIN_IMPORT),
    Rule("patching", patching.patches, "Leave other modules as they are; put your own code under your own names."),
    Rule(
        "tensor-subclass", subclasses.tensor_subclasses, "Return plain torch.Tensor objects that the kernel has filled."
    ),
    Rule(
        "fallback",
        fallback.fallbacks,
        "Let the error through: it comes back as feedback. A handler may launch another kernel of yours.",
    ),
    Rule("settings", patching.settings, "Remove it.", "warning"),
    Rule("useless-import", usage.useless_imports, "Remove the import.", "warning"),
)

LANGUAGE_RULES: dict[Language, tuple[Rule, ...]] = {
    "triton": (
        Rule(
            "no-kernel",
            triton_kernels.no_kernel,
            "Write a function decorated with @triton.jit and launch it from forward as kernel[grid](…).",
        ),
        Rule("not-launched", triton_kernels.not_launched, "Launch it from ModelNew.forward as kernel[grid](…)."),
        Rule(
            "kernel-language",
            kernel_language.foreign_python,
            "Use triton.language and other functions under @triton.jit; Triton does not compile the rest of Python.",
        ),
    ),
    "cuda": (
        Rule(
            "no-kernel",
            cuda_kernels.no_kernel,
            "Put a __global__ function into a string and build it with torch.utils.cpp_extension.load_inline.",
        ),
        Rule("not-launched", cuda_kernels.not_launched, "Launch the kernel from a C++ function as kernel<<<…>>>(…)."),
    ),
}
