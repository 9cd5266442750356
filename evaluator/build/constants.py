"""The values of Python expressions that are plainly constant, without running any code of their author."""

import ast
from collections.abc import Mapping
from typing import Any, Final

_STRING_METHODS: Final = frozenset({"strip", "lstrip", "rstrip", "replace", "format", "join", "lower", "upper"})
_MAX_CHARS: Final = 4 * 1024**2


class NotConstant(Exception):
    """The text alone does not say what the value is."""


def evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression of constants, known `names`, displays, additions and string methods."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [evaluate(item, names) for item in items]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {evaluate(key, names): evaluate(value, names) for key, value in pairs if key is not None}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(evaluate(left, names), evaluate(right, names))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return _fill(evaluate(left, names), evaluate(right, names))
        case ast.JoinedStr(values=values):
            return "".join(_piece(value, names) for value in values)
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=args, keywords=[]):
            return _method(evaluate(text, names), method, [evaluate(argument, names) for argument in args])
    raise NotConstant


def _piece(node: ast.expr, names: Mapping[str, Any]) -> str:
    if isinstance(node, ast.FormattedValue):
        if node.conversion != -1 or node.format_spec is not None:
            raise NotConstant
        return str(evaluate(node.value, names))
    return str(evaluate(node, names))


def _add(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or not isinstance(left, str | list | int | float):
        raise NotConstant
    return left + right


def _fill(text: Any, values: Any) -> str:
    """`text % values`, for whole numbers and strings without widths (a width could ask for any length)."""
    if not isinstance(text, str) or any(character in text for character in "*.0123456789" if f"%{character}" in text):
        raise NotConstant
    try:
        return text % (tuple(values) if isinstance(values, list) else values)
    except (TypeError, ValueError, KeyError) as error:
        raise NotConstant from error


def _method(text: Any, method: str, arguments: list[Any]) -> Any:
    if not isinstance(text, str) or method not in _STRING_METHODS:
        raise NotConstant
    if method == "format" and ":" in "".join(part for part in text.split("{")[1:] if "}" in part.partition(":")[2]):
        raise NotConstant
    try:
        result = getattr(text, method)(*arguments)
    except (TypeError, IndexError, KeyError, ValueError, AttributeError) as error:
        raise NotConstant from error
    if len(result) > _MAX_CHARS:
        raise NotConstant
    return result
