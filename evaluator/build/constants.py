"""Reading `load_inline` calls off a module's text, where all that they take are constants: no import of torch needed.

Most CUDA submissions are of that kind. Whatever is not plainly constant is left to the recorder, which executes the
module. A wrong reading could only make a build that the runner then does not find, so anything doubtful is refused.
"""

import ast
from typing import Any, Final

from evaluator.build.calls import CallError, ExtensionCall, from_load_inline

_BUILDER: Final = "load_inline"
#: Ways to change a name or a builder behind the reader's back.
_SUSPICIOUS: Final = frozenset(
    {"globals", "vars", "exec", "eval", "setattr", "cpp_extension_load", "import_module", "__import__", "load"}
)
_STRING_METHODS: Final = frozenset({"strip", "lstrip", "rstrip", "replace", "format", "join", "lower", "upper"})


class NotConstant(Exception):
    """The text alone does not say what is built."""


def read_calls(source: str) -> list[ExtensionCall] | None:
    """The calls in the order in which an import makes them, or None where the module must be executed to know.

    Raises CallError where a call's arguments are constant and wrong.
    """
    try:
        module = ast.parse(source)
        _refuse_doubtful(module)
        return _Reader().read(module)
    except (NotConstant, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, CallError):
            raise
        return None


def _refuse_doubtful(module: ast.Module) -> None:
    for node in ast.walk(module):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if name in _SUSPICIOUS or isinstance(node, ast.Global | ast.Nonlocal):
            raise NotConstant
        if isinstance(node, ast.ImportFrom) and any(alias.name in ("*", "load") for alias in node.names):
            raise NotConstant


class _Reader:
    """Follows the module's own statements; only immutable values are kept under names."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._builders = {_BUILDER}
        self._calls: list[ExtensionCall] = []

    def read(self, module: ast.Module) -> list[ExtensionCall]:
        for statement in module.body:
            self._statement(statement)
        return self._calls

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import():
                pass
            case ast.ImportFrom(names=names):
                self._builders.update(alias.asname or alias.name for alias in names if alias.name == _BUILDER)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._assign(name, value)
            case ast.Expr(value=ast.Call() as call) if self._is_builder(call.func):
                self._take(call)
            case _:
                self._pass_over(statement)

    def _assign(self, name: str, value: ast.expr) -> None:
        self._values.pop(name, None)
        if isinstance(value, ast.Call) and self._is_builder(value.func):
            self._take(value)
        else:
            self._must_not_build(value)
            try:
                result = self._evaluate(value)
            except NotConstant:
                return
            if isinstance(result, str | int | float | bool | None):
                self._values[name] = result

    def _pass_over(self, statement: ast.stmt) -> None:
        """A statement that is not followed: it must build nothing, and what it may bind is known no longer."""
        self._must_not_build(statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                self._values.pop(node.id, None)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._values.pop(node.name, None)

    def _must_not_build(self, node: ast.AST) -> None:
        for inner in ast.walk(node):
            named = isinstance(inner, ast.Name) and inner.id in self._builders
            if named or (isinstance(inner, ast.Attribute) and inner.attr == _BUILDER):
                raise NotConstant

    def _is_builder(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Name):
            return function.id in self._builders
        return isinstance(function, ast.Attribute) and function.attr == _BUILDER

    def _take(self, call: ast.Call) -> None:
        arguments = [self._evaluate(argument) for argument in call.args]
        keywords = {self._keyword(keyword): self._evaluate(keyword.value) for keyword in call.keywords}
        try:
            self._calls.append(from_load_inline(*arguments, **keywords))
        except TypeError as error:
            raise CallError(f"load_inline: {error}") from error

    @staticmethod
    def _keyword(keyword: ast.keyword) -> str:
        if keyword.arg is None:
            raise NotConstant
        return keyword.arg

    def _evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in self._values:
                return self._values[name]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._evaluate(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {self._evaluate(key): self._evaluate(value) for key, value in pairs if key is not None}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._add(self._evaluate(left), self._evaluate(right))
            case ast.JoinedStr(values=values):
                return "".join(self._piece(value) for value in values)
            case ast.Call(func=ast.Attribute(value=text, attr=method), args=args, keywords=[]) if (
                method in _STRING_METHODS
            ):
                return self._method(self._evaluate(text), method, [self._evaluate(argument) for argument in args])
        raise NotConstant

    def _piece(self, node: ast.expr) -> str:
        if isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
            return str(self._evaluate(node.value))
        return str(self._evaluate(node))

    @staticmethod
    def _add(left: Any, right: Any) -> Any:
        if type(left) is not type(right) or not isinstance(left, str | list | int | float):
            raise NotConstant
        return left + right

    @staticmethod
    def _method(text: Any, method: str, arguments: list[Any]) -> Any:
        if not isinstance(text, str):
            raise NotConstant
        try:
            return getattr(text, method)(*arguments)
        except (TypeError, IndexError, KeyError, ValueError) as error:
            raise NotConstant from error
