"""Values as trees: what goes in comes out, and nothing out of form comes in."""

import contextlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import tree
from evaluator.tree import MAX_DEPTH, MAX_LEAVES, MAX_TEXT, TreeError


class Box:
    """Stands in for a tensor: the tree leaves those to its caller."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and other.number == self.number

    __hash__ = None  # type: ignore[assignment]


def put(value: Any) -> dict[str, Any] | None:
    return {"number": value.number} if isinstance(value, Box) else None


def get(description: Any) -> Box:
    return Box(description["number"])


Scalars = (
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=8)
)
Values = st.recursive(
    Scalars | st.builds(Box, st.integers()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
Junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["tensor", "tuple", "list", "dict", "none", "int", "bool", "str", "float", "0x1p+99999"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["kind", "items", "value", "tensor", "x"]), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


def depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth, value), default=0) if isinstance(value, list | tuple) else 0


def same(a: Any, b: Any) -> bool:
    """Equal, of equal types, and with the sign of every zero."""
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


@given(Values.filter(lambda value: depth(value) <= MAX_DEPTH))
def test_what_is_encoded_is_decoded(value: Any) -> None:
    assert same(tree.decode(tree.encode(value, put), get), value)


def test_floats_that_are_no_numbers_pass() -> None:
    node = tree.encode([math.nan, math.inf, -math.inf], put)
    found = tree.decode(node, get)
    assert math.isnan(found[0])
    assert found[1:] == [math.inf, -math.inf]


@given(Junk)
def test_anything_else_is_refused_as_a_tree_error(node: Any) -> None:
    with contextlib.suppress(TreeError):
        tree.decode(node, lambda description: None)


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, {1, 2}, b"bytes", 1j, range(3), type("Sub", (list,), {})(), type("Int", (int,), {})(3)],
    ids=lambda value: type(value).__name__,
)
def test_only_plain_values_are_described(value: Any) -> None:
    with pytest.raises(TreeError, match="is no tensor"):
        tree.encode([value], put)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(TreeError, match="deeper"):
        tree.encode(value, put)


def nested(levels: int) -> Any:
    node: Any = {"kind": "none"}
    for _ in range(levels):
        node = {"kind": "list", "items": [node]}
    return node


def wide(leaves: int) -> Any:
    return {"kind": "list", "items": [{"kind": "none"}] * leaves}


def test_caps_are_exact() -> None:
    tree.decode(nested(MAX_DEPTH), get)
    tree.decode(wide(MAX_LEAVES - 1), get)
    tree.decode({"kind": "str", "value": "x" * MAX_TEXT}, get)
    tree.decode({"kind": "int", "value": 2**63 - 1}, get)
    for node in (
        nested(MAX_DEPTH + 1),
        wide(MAX_LEAVES),
        {"kind": "list", "items": [wide(100)] * 11},
        {"kind": "str", "value": "x" * (MAX_TEXT + 1)},
        {"kind": "int", "value": 2**63},
        {"kind": "int", "value": True},
        {"kind": "bool", "value": 1},
        {"kind": "float", "value": "0x" + "1" * 63},
        {"kind": "float", "value": 1.0},
        {"kind": "dict", "items": [[1, {"kind": "none"}]]},
        {"kind": "dict", "items": [["a", {"kind": "none"}, 1]]},
        {"kind": []},
        {"kind": {"kind": "none"}},
    ):
        with pytest.raises(TreeError):
            tree.decode(node, get)
