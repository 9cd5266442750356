"""What can be told of a task from its text: whether it has the format's parts, and what stands in its way."""

import ast
import importlib.util
import sys
from dataclasses import dataclass, field

from evaluator.static.syntax import SourceError, parse
from evaluator.tasks.kinds import Kind, kind_of
from evaluator.tasks.sizes import SizesError, cpu_sizes

MODEL = "Model"
FUNCTIONS = ("get_inputs", "get_init_inputs")
# a judge runs the task, and has these; who only serves its text, as the API of an image without torch, need not
WITH_EVERY_JUDGE = frozenset({"torch", "triton", "numpy", "einops"})


@dataclass(frozen=True)
class Inspection:
    """`problems` are sentences for the person who keeps the task set; empty means that the task can be served."""

    problems: tuple[str, ...] = ()
    cpu_sizes: dict[str, object] = field(default_factory=dict)
    kind: Kind = field(default_factory=Kind)


def inspect_source(source: str) -> Inspection:
    """Check one task's text; never raises for anything in it."""
    try:
        tree = parse(source)
    except SourceError as error:
        return Inspection(problems=(f"is not valid Python: {error}",))
    problems = [*_missing_parts(tree), *_missing_packages(tree)]
    sizes: dict[str, object] = {}
    try:
        sizes = cpu_sizes(tree)
    except SizesError as error:
        problems.append(str(error))
    return Inspection(tuple(problems), sizes, kind_of(tree))


def _missing_parts(tree: ast.Module) -> list[str]:
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [] if MODEL in classes else [f"defines no class {MODEL}"]
    return missing + [f"defines no function {name}" for name in FUNCTIONS if name not in functions]


def _missing_packages(tree: ast.Module) -> list[str]:
    needed: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            needed.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            needed.add((node.module or ".").partition(".")[0])
    return [
        f"imports {name or 'a neighbouring file'}, which is not available here"
        for name in sorted(needed)
        if not _available(name)
    ]


def _available(package: str) -> bool:
    if package in WITH_EVERY_JUDGE or package in sys.stdlib_module_names or package in sys.modules:
        return True
    return bool(package) and importlib.util.find_spec(package) is not None
