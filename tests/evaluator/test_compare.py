"""The comparison of outputs: what counts as equal, and how a difference is told to the kernel's author."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judge import compare as module
from evaluator.judge.compare import Mismatch, Tolerance, compare, relative_l2

USUAL = Tolerance(1e-2, 1e-2)
INF, NAN = math.inf, math.nan


def text_of(found: Any, expected: Any, tolerance: Tolerance = USUAL, inputs: Any = None) -> str:
    with pytest.raises(Mismatch) as caught:
        compare(found, expected, tolerance, inputs)
    return str(caught.value)


def f32(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


@pytest.mark.parametrize(
    ("found", "expected", "says"),
    [
        (1.0, f32(1), "output: expected a tensor, found float"),
        (f32(1), (f32(1),), "output: expected tuple, found Tensor"),
        ([f32(1)], (f32(1),), "output: expected tuple, found list"),
        ((f32(1),), (f32(1), f32(2)), "output: expected 2 values, found 1"),
        ({"b": f32(1)}, {"a": f32(1)}, "output: expected keys ['a'], found ['b']"),
        ({"a": [f32(1), f32(5)]}, {"a": [f32(1), f32(2)]}, "output['a'][1]: 1 of 1 elements (100 %) are wrong"),
        (f32(1, 2), f32(1), "output: expected shape (1,), found (2,)"),
        (f32(1)[0], f32(1), "output: expected shape (1,), found ()"),
        (f32(1).double(), f32(1), "output: expected dtype float32, found float64"),
        (3, 4, "output: expected 4, found 3"),
        (True, 1, "output: expected int, found bool"),
        ("a", "b", "output: expected 'b', found 'a'"),
        (None, 0.0, "output: expected float, found NoneType"),
        (1.5, 1.0, "output: 1 of 1 elements (100 %) are wrong; largest absolute error 0.5, relative 0.5"),
    ],
)
def test_differences_in_form_are_named(found: Any, expected: Any, says: str) -> None:
    assert text_of(found, expected).startswith(says)


@pytest.mark.parametrize("value", [None, True, 3, "x", 1.0, [], (), {}, [f32(1), {"a": (2, None)}], torch.empty(0, 3)])
def test_a_value_equals_itself(value: Any) -> None:
    assert compare(value, value, USUAL).max_abs_err == 0.0


def test_the_text_says_how_many_how_far_and_where() -> None:
    expected = torch.ones(4, 5)
    found = expected.clone()
    found[1, 2], found[3, 4], found[0, 3] = 2.0, -1.0, 1.009
    assert text_of(found, expected).split("\n") == [
        "output: 2 of 20 elements (10 %) are wrong; largest absolute error 2, relative 2 "
        "(tolerance: absolute 0.01, relative 0.01); the first:",
        "  at (1, 2): expected 1, found 2",
        "  at (3, 4): expected 1, found -1",
    ]


def test_at_most_four_examples_are_shown() -> None:
    text = text_of(torch.ones(100), torch.zeros(100))
    assert [line.split(":")[0] for line in text.split("\n")[1:]] == [f"  at ({i},)" for i in range(4)]
    assert "100 of 100 elements (100 %)" in text


Elements = st.floats(-100, 100, width=32) | st.sampled_from([INF, -INF, NAN, 0.0, -0.0, 3e38, -3e38])


@given(st.lists(st.tuples(Elements, Elements), min_size=1, max_size=12), st.booleans())
def test_tolerance_is_that_of_allclose_with_equal_nan(pairs: list[tuple[float, float]], far: bool) -> None:
    expected = f32(*(b for _, b in pairs))
    found = f32(*(a for a, _ in pairs)) if far else expected * 1.005
    close = torch.isclose(found, expected, rtol=1e-2, atol=1e-2, equal_nan=True)
    if bool(close.all()):
        compare(found, expected, USUAL)
    else:
        text = text_of(found, expected)
        assert f"{int((~close).sum())} of {len(pairs)} elements" in text


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_non_finite_elements_stand_where_the_reference_has_them(value: float) -> None:
    compare(f32(1, value), f32(1, value), USUAL)
    assert "1 elements are NaN or infinite" in text_of(f32(1, value), f32(1, 1))
    assert "at (1,): expected" in text_of(f32(1, 1), f32(1, value))
    assert "1 of 2 elements" in text_of(f32(1, value), f32(1, value), Tolerance(1e-2, 1e-2, finite_only=True))
    assert text_of(f32(1, value), f32(1, -5.0 if math.isnan(value) else -value))


def test_nothing_bounds_an_error_that_is_not_finite() -> None:
    unlimited = Tolerance(INF, INF)
    compare(f32(1e30, 0), f32(0, 1), unlimited)
    assert text_of(f32(NAN, 0), f32(0, 1), unlimited)
    assert text_of(f32(INF, 0), f32(0, 1), unlimited)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.complex64])
def test_every_floating_type_is_compared_within_tolerance(dtype: torch.dtype) -> None:
    expected = torch.linspace(1, 2, 64).to(dtype)
    assert 0 < compare(expected * 1.005, expected, USUAL).max_abs_err < 0.02
    assert "64 of 64" in text_of(expected * 1.05, expected)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_and_booleans_are_compared_exactly(dtype: torch.dtype) -> None:
    expected = torch.tensor([0, 1, 1], dtype=dtype)
    compare(expected.clone(), expected, Tolerance(1e9, 1e9))
    assert "1 of 3" in text_of(torch.tensor([0, 1, 0], dtype=dtype), expected, Tolerance(1e9, 1e9))


@given(st.integers(1, 40), st.integers(1, 9), st.sets(st.integers(0, 359)), st.booleans(), st.booleans())
def test_chunks_and_strides_change_nothing(
    rows: int, columns: int, wrong: set[int], turn_found: bool, turn_expected: bool
) -> None:
    expected = torch.arange(float(rows * columns)).reshape(rows, columns)
    found = expected.clone()
    places = sorted(place for place in wrong if place < rows * columns)
    found.view(-1)[places] += 1000.0
    found, expected = (
        value.t().contiguous().t() if turn else value
        for value, turn in ((found, turn_found), (expected, turn_expected))
    )
    whole = outcome(found, expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_ELEMENTS", 7)
        assert outcome(found, expected) == whole
    assert isinstance(whole, str) == bool(places)
    if isinstance(whole, str):
        assert f"{len(places)} of {rows * columns} elements" in whole
        assert f"at ({places[0] // columns}, {places[0] % columns}):" in whole


def outcome(found: torch.Tensor, expected: torch.Tensor) -> float | str:
    try:
        return compare(found, expected, USUAL).max_abs_err
    except Mismatch as mismatch:
        return str(mismatch)


def test_outputs_with_odd_strides() -> None:
    expected = torch.full((3, 4), 2.0)
    compare(torch.tensor(2.0).expand(3, 4), expected, USUAL)
    compare(expected[:, ::2], expected[:, :2], USUAL)
    compare(expected[0, 0], torch.tensor(2.0), USUAL)
    assert "12 of 12" in text_of(torch.tensor(3.0).expand(3, 4), expected)


def test_the_absolute_part_shrinks_with_the_largest_element() -> None:
    small = Tolerance(1e-2, 1e-2, absolute_of_max_frac=1e-5)
    expected = torch.full((8,), 1e-4)
    compare(torch.zeros(8), expected, USUAL)
    assert "absolute 1e-09" in text_of(torch.zeros(8), expected, small)
    compare(expected * 1.009, expected, small)
    compare(f32(1e6, 0.009), f32(1e6, 0.0), small)  # never above the configured one
    assert text_of(f32(1e6, 0.011), f32(1e6, 0.0), small)
    compare(f32(INF, 0.009), f32(INF, 0.0), small)  # without a largest element the configured one stays


def test_the_absolute_part_may_grow_with_the_largest_element() -> None:
    expected = (f32(-200.0, 0.0), f32(3.0))
    compare((f32(-200.0, 1.9), f32(3.0)), expected, USUAL.growing_with(expected))
    assert text_of((f32(-200.0, 2.1), f32(3.0)), expected, USUAL.growing_with(expected))
    assert USUAL.growing_with((f32(INF),)) == USUAL.growing_with((3, None)) == USUAL


def test_distance_over_all_tensors() -> None:
    expected = (f32(3.0), {"x": f32(0.0, 4.0)})
    assert relative_l2((f32(3.0), {"x": f32(0.5, 4.0)}), expected) == pytest.approx(0.1)
    assert relative_l2(f32(1.0), f32(0.0)) == 0.0
    assert relative_l2(f32(INF, 2.2), f32(INF, 2.0)) == pytest.approx(0.1)
