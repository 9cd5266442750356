"""Nested Python values as plain JSON, with tensors left to the caller; what a hostile peer sends is checked here."""

from collections.abc import Callable
from typing import Any

MAX_DEPTH = 8
MAX_LEAVES = 1024
MAX_TEXT = 4096


class TreeError(ValueError):
    """A value or a message that is no tree of tensors, containers and scalars."""


def encode(value: Any, put_tensor: Callable[[Any], dict[str, Any] | None], depth: int = 0) -> dict[str, Any]:
    """Describe `value`; `put_tensor` describes a leaf that is a tensor and answers None for anything else."""
    if depth > MAX_DEPTH:
        raise TreeError(f"values nest deeper than {MAX_DEPTH}")
    if (tensor := put_tensor(value)) is not None:
        return {"kind": "tensor", "tensor": tensor}
    if value is None:
        return {"kind": "none"}
    if type(value) in (bool, int, str):
        return {"kind": type(value).__name__, "value": value}
    if type(value) is float:
        return {"kind": "float", "value": value.hex()}
    if type(value) in (tuple, list):
        return {"kind": type(value).__name__, "items": [encode(item, put_tensor, depth + 1) for item in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        items = [[key, encode(item, put_tensor, depth + 1)] for key, item in value.items()]
        return {"kind": "dict", "items": items}
    raise TreeError(f"{type(value).__name__} is no tensor, number, tuple, list or dict with string keys")


def decode(node: Any, get_tensor: Callable[[Any], Any]) -> Any:
    """Rebuild a value from its description. Raises TreeError for anything out of form or over the caps."""
    return _Decoder(get_tensor).decode(node, 0)


class _Decoder:
    def __init__(self, get_tensor: Callable[[Any], Any]) -> None:
        self._get_tensor = get_tensor
        self._leaves = 0

    def decode(self, node: Any, depth: int) -> Any:
        self._leaves += 1
        if depth > MAX_DEPTH or self._leaves > MAX_LEAVES:
            raise TreeError("the value has too many parts")
        if not isinstance(node, dict):
            raise TreeError("a node must be an object")
        kind = node.get("kind")
        if kind == "none":
            return None
        if kind == "tensor":
            return self._get_tensor(node.get("tensor"))
        if kind in ("tuple", "list"):
            items = [self.decode(item, depth + 1) for item in _list(node.get("items"))]
            return tuple(items) if kind == "tuple" else items
        if kind == "dict":
            return {key: self.decode(item, depth + 1) for key, item in map(_pair, _list(node.get("items")))}
        return _scalar(kind, node.get("value"))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MAX_LEAVES:
        raise TreeError("items must be a list")
    return value


def _pair(value: Any) -> tuple[str, Any]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        raise TreeError("a dict item must be a pair of key and node")
    return value[0], value[1]


def _scalar(kind: Any, value: Any) -> Any:
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and type(value) is int and abs(value) < 2**63:
        return value
    if kind == "str" and isinstance(value, str) and len(value) <= MAX_TEXT:
        return value
    if kind == "float" and isinstance(value, str) and len(value) <= 64:
        try:
            return float.fromhex(value)
        except (ValueError, OverflowError) as error:
            raise TreeError("not a float") from error
    name = repr(kind[:40]) if isinstance(kind, str) else "what is no text"
    raise TreeError(f"{name} is no kind of value")
