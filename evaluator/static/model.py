"""Finds whether `ModelNew` is there, and whether it is more than the reference under another name."""

import ast
from collections.abc import Iterator

from evaluator.static import cuda_kernels, triton_kernels
from evaluator.static.rule import Hit
from evaluator.static.source import MODEL, Source, loaded_names

REFERENCE = "Model"


def missing(source: Source) -> Iterator[Hit]:
    if MODEL not in source.definitions and source.names.scope(source.tree).owner(MODEL) is None:
        yield Hit(None, f"the submission defines no class {MODEL}")


def uses_reference(source: Source) -> Iterator[Hit]:
    """ModelNew inherits from or calls `Model`, and it is not a copy in the submission that its kernels speed up."""
    users = source.users_of(_kernel_handles(source))
    if REFERENCE in source.definitions and users & {MODEL, REFERENCE}:
        return
    for node in source.definitions.get(MODEL, []):
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id == REFERENCE and isinstance(child.ctx, ast.Load):
                where = "inherits from" if child in getattr(node, "bases", []) else "uses"
                yield Hit.at(child, f"{MODEL} {where} the reference class {REFERENCE}")
    for statement in source.module_statements:
        if isinstance(statement, ast.Assign) and _names_model(statement) and REFERENCE in loaded_names(statement.value):
            yield Hit.at(statement, f"{MODEL} is the reference class {REFERENCE} under another name")


def _names_model(statement: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == MODEL for target in statement.targets)


def _kernel_handles(source: Source) -> set[str]:
    """Names through which kernels are launched: jitted functions, and what load_inline's result was assigned to."""
    handles = triton_kernels.kernel_names(source)
    calls = {id(call) for call in cuda_kernels.loader_calls(source)}
    for node in source.nodes:
        if isinstance(node, ast.Assign) and any(id(child) in calls for child in ast.walk(node.value)):
            handles |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef) and any(id(child) in calls for child in ast.walk(node)):
            handles.add(node.name)
    return handles
