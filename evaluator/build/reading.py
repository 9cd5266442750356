"""Reading `load_inline` calls off a module's text, where all that they take are constants: no import of torch needed.

Also found so are the calls inside functions, which an import does not make. Whatever is not plainly constant is left
to the recorder, which executes the module. A wrong reading could only make a build that the runner does not find.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from evaluator.build.calls import CallError, ExtensionCall, from_load_inline
from evaluator.build.constants import NotConstant, evaluate

_BUILDER: Final = "load_inline"
#: Ways to change a name or a builder behind the reader's back, and the builder of files.
_SUSPICIOUS: Final = frozenset({"globals", "vars", "exec", "eval", "setattr", "import_module", "__import__", "load"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_MAX_SOURCE_CHARS: Final = 1024**2


@dataclass(frozen=True)
class Reading:
    """`complete` says that no call can be made but these; else the module must be executed as well."""

    calls: tuple[ExtensionCall, ...]
    complete: bool


def read_calls(source: str) -> Reading:
    """The calls that the text shows. Raises CallError where a call's arguments are constant and wrong."""
    if _BUILDER not in source and "cpp_extension" not in source:
        return Reading((), complete=True)
    try:
        module = ast.parse(source[:_MAX_SOURCE_CHARS])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Reading((), complete=False)
    if _doubtful(module):
        return Reading((), complete=False)
    reader = _Reader(module)
    reader.visit_scope(module, {})
    return Reading(tuple(reader.calls), reader.complete)


def _doubtful(module: ast.Module) -> bool:
    for node in ast.walk(module):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if name in _SUSPICIOUS or isinstance(node, ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.ImportFrom) and any(alias.name in ("*", "load") for alias in node.names):
            return True
    return False


class _Reader:
    """Visits every scope with the constants that are visible in it."""

    def __init__(self, module: ast.Module) -> None:
        self.calls: list[ExtensionCall] = []
        self.complete = True
        imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
        aliases = [alias for node in imports for alias in node.names if alias.name == _BUILDER]
        self._builders = {_BUILDER, *(alias.asname or alias.name for alias in aliases)}

    def visit_scope(self, scope: ast.AST, outer: dict[str, Any]) -> None:
        """Take the calls of this scope and of those inside it."""
        nodes = list(_own_nodes(scope))
        stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        stored.update(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef))
        stored.update(_parameters(scope))
        names = {name: value for name, value in outer.items() if name not in stored}
        for node in nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                self._learn(node, stored, names)
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call) and self._is_builder(node.func)}
        for node in nodes:
            if isinstance(node, ast.Call) and id(node.func) in called:
                self._take(node, names)
            elif self._is_builder(node) and id(node) not in called:
                self.complete = False  # handed on or replaced: who knows how it is called
        inner = outer if isinstance(scope, ast.ClassDef) else names
        for node in nodes:
            if isinstance(node, _SCOPES):
                self.visit_scope(node, inner)

    @staticmethod
    def _learn(node: ast.Assign | ast.AnnAssign, stored: Counter[str], names: dict[str, Any]) -> None:
        """A name that is bound once, to an immutable constant, has that value wherever it has one."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        target = targets[0]
        if len(targets) != 1 or not isinstance(target, ast.Name) or stored[target.id] != 1 or node.value is None:
            return
        try:
            value = evaluate(node.value, names)
        except NotConstant:
            return
        if isinstance(value, str | int | float | bool | None):
            names[target.id] = value

    def _is_builder(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._builders
        return isinstance(node, ast.Attribute) and node.attr == _BUILDER

    def _take(self, call: ast.Call, names: dict[str, Any]) -> None:
        try:
            arguments = [evaluate(argument, names) for argument in call.args]
            keywords = {_keyword(keyword): evaluate(keyword.value, names) for keyword in call.keywords}
        except NotConstant:
            self.complete = False
            return
        try:
            self.calls.append(from_load_inline(*arguments, **keywords))
        except TypeError as error:
            raise CallError(f"load_inline: {error}") from error


def _keyword(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise NotConstant
    return keyword.arg


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope in the order of the text, inner functions and classes too, but not what is in those."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _own_nodes(child)


def _parameters(scope: ast.AST) -> list[str]:
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    given = scope.args
    listed = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [argument.arg for argument in listed if argument is not None]
