"""Where a claimed tensor may lie: nothing that is accepted reaches beyond its segment, whatever the claim."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.tensorspec import ALIGNMENT_BYTES, ITEM_BYTES, MAX_DIMS, SpecError, TensorSpec, align

SEGMENTS = {"exchange": 64, "arena": 200}
Size = st.integers(0, 5) | st.sampled_from([2**31, 2**47, 2**48, -1, True, 1.0, None, "3"])
Sizes = st.lists(Size, max_size=4) | st.none()
Claims = st.fixed_dictionaries(
    {
        "segment": st.sampled_from(["exchange", "arena", "other", None, [], {}]),
        "offset": st.integers(-8, 210) | st.sampled_from([2**70, 1.5, None, "0", False]),
        "dtype": st.sampled_from([*ITEM_BYTES, "float8_e4m3fn", "object", None, [], 7]),
        "shape": Sizes,
        "stride": Sizes,
    }
)
Plausible = st.integers(0, 3).flatmap(
    lambda dims: st.fixed_dictionaries(
        {
            "segment": st.sampled_from(list(SEGMENTS)),
            "offset": st.integers(0, 26).map(lambda number: number * 8),
            "dtype": st.sampled_from(list(ITEM_BYTES)),
            "shape": st.lists(st.integers(0, 6), min_size=dims, max_size=dims),
            "stride": st.lists(st.integers(0, 12) | st.just(2**47), min_size=dims, max_size=dims),
        }
    )
)


def accepted(claim: Any) -> TensorSpec | None:
    try:
        return TensorSpec.from_json(claim, SEGMENTS)
    except SpecError:
        return None


def touched(spec: TensorSpec) -> list[int]:
    """The first byte of every element, one by one."""
    item = ITEM_BYTES[spec.dtype]
    places = itertools.product(*map(range, spec.shape))
    return [spec.offset + item * sum(i * step for i, step in zip(at, spec.stride, strict=True)) for at in places]


@settings(max_examples=500)
@given(Plausible)
def test_an_accepted_tensor_lies_inside_its_segment(claim: dict[str, Any]) -> None:
    spec = accepted(claim)
    item = ITEM_BYTES[claim["dtype"]]
    candidate = TensorSpec(**{**claim, "shape": tuple(claim["shape"]), "stride": tuple(claim["stride"])})
    last = max(touched(candidate), default=candidate.offset - item) + item
    fits = last <= SEGMENTS[claim["segment"]] and claim["offset"] % item == 0
    assert (spec is not None) == fits
    assert spec is None or spec.offset + spec.extent_bytes == last


@settings(max_examples=300)
@given(Claims)
def test_any_claim_is_accepted_or_refused_and_torch_can_view_it(claim: dict[str, Any]) -> None:
    spec = accepted(claim)
    if spec is None:
        return
    assert spec.to_json() == claim
    segment = torch.zeros(SEGMENTS[spec.segment], dtype=torch.uint8)
    region = segment[spec.offset : spec.offset + spec.extent_bytes]
    view = region.view(getattr(torch, spec.dtype)).as_strided(spec.shape, spec.stride)
    assert tuple(view.shape) == spec.shape


@pytest.mark.parametrize("claim", [None, [], "x", 1, {}, {"segment": "arena"}])
def test_what_is_no_description_is_refused(claim: Any) -> None:
    assert accepted(claim) is None


@pytest.mark.parametrize("dtype", ITEM_BYTES)
def test_item_sizes_are_those_of_torch(dtype: str) -> None:
    assert ITEM_BYTES[dtype] == torch.empty(0, dtype=getattr(torch, dtype)).element_size()


def test_an_empty_tensor_that_torch_cannot_count_is_refused() -> None:
    shape = [2**40, 2**40, 0]
    assert accepted({"segment": "arena", "offset": 0, "dtype": "int8", "shape": shape, "stride": [0, 0, 0]}) is None


def test_too_many_dimensions_are_refused() -> None:
    claim = {"segment": "arena", "offset": 0, "dtype": "uint8", "shape": [1] * MAX_DIMS, "stride": [0] * MAX_DIMS}
    assert accepted(claim) is not None
    assert accepted({**claim, "shape": [1] * (MAX_DIMS + 1), "stride": [0] * (MAX_DIMS + 1)}) is None


@given(st.integers(0, 2**40))
def test_alignment(offset: int) -> None:
    assert 0 <= align(offset) - offset < ALIGNMENT_BYTES
    assert align(offset) % ALIGNMENT_BYTES == 0


def test_a_large_tensor_of_many_dimensions_is_accepted() -> None:
    shape, bytes_ = [16, 48, 128, 128, 128], 16 * 48 * 128**3 * 4
    stride = [48 * 128**3, 128**3, 128**2, 128, 1]
    claim = {"segment": "arena", "offset": 0, "dtype": "float32", "shape": shape, "stride": stride}
    assert TensorSpec.from_json(claim, {"arena": bytes_}).extent_bytes == bytes_
    with pytest.raises(SpecError, match="beyond"):
        TensorSpec.from_json(claim, {"arena": bytes_ - 1})
