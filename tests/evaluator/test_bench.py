"""One checked call with a runner that claims anything: only a verdict comes out, and only for the right bytes."""

import contextlib
import struct
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator import tree
from evaluator.errors import GraderFault, SubmissionFault
from evaluator.judge.bench import Bench
from evaluator.judge.call import CallOptions, CallSeeds, CheckedCall
from evaluator.judge.compare import Mismatch
from evaluator.judge.device import CpuJudgeDevice
from evaluator.judge.exchange import Exchange
from evaluator.judge.reference import Reference
from evaluator.judge.runner_link import CallReply, CallRequest
from evaluator.tensorspec import ITEM_BYTES, TensorSpec, align
from evaluator.verdicts import Verdict

SEEDS = CallSeeds(3, 4)
OUTPUT_BYTES = 6 * 8 * 4 + 6 * 8


TASK = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.rand(8))
    def forward(self, x, n):
        {body}

def get_inputs():
    return [torch.randn(6, 8), 3]

def get_init_inputs():
    return []
"""
PLAIN = "return torch.relu(x) + self.bias, x.argmax(1), float(n)"
IN_PLACE = "return x.mul_(2.0)"
RAISES = "raise ZeroDivisionError('broken')"


def bench_of(body: str = PLAIN) -> Bench:
    made = Bench(Reference("level1/1_X", TASK.replace("{body}", body), "cpu"), CpuJudgeDevice(), 1e-2, 1)
    made.write_state(2)
    return made


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = bench_of()
    yield made
    made.close()


Act = Callable[[Bench, list[Any]], Any]


def check(bench: Bench, act: Act) -> Any:
    """One checked call whose runner does `act` with the inputs it finds in the segment, and replies with its result."""

    def call(request: CallRequest, *_: Any) -> CallReply:
        return CallReply([act(bench, tree.decode(request.inputs[0], partial(exchanged, bench)))], 0.5)

    runner: Any = SimpleNamespace(call=call)
    return bench.checked_call(runner, "candidate", SEEDS, 5.0, CallOptions())


def put(bench: Bench, value: Any, offset: list[int]) -> dict[str, Any] | None:
    """Write a tensor into the arena, as the runner does, and describe it."""
    if not isinstance(value, torch.Tensor):
        return None
    at = offset[0]
    flat = bench.arena("candidate").bytes[at : at + value.numel() * value.element_size()]
    flat.view(value.dtype).view(value.shape).copy_(value)
    offset[0] = align(at + flat.numel())
    name = str(value.dtype).removeprefix("torch.")
    return TensorSpec("arena", at, name, tuple(value.shape), value.contiguous().stride()).to_json()


def answer(bench: Bench, value: Any) -> Any:
    offset = [0]
    return tree.encode(value, lambda leaf: put(bench, leaf, offset))


def right(bench: Bench, inputs: list[Any]) -> Any:
    x, n = inputs
    return answer(bench, (torch.relu(x) + bench.reference.state()["bias"], x.argmax(1), float(n)))


def test_the_right_answer_passes(bench: Bench) -> None:
    call = check(bench, right)
    assert (call.max_abs_err, call.claim_ms) == (0.0, 0.5)
    assert call.wall_ms > 0


def test_the_arena_is_poisoned_before_every_call(bench: Bench) -> None:
    check(bench, right)
    spec = TensorSpec("arena", 0, "float32", (6, 8), (8, 1)).to_json()
    with pytest.raises(Mismatch, match="NaN or infinite"):
        check(bench, lambda b, i: {"kind": "tuple", "items": [{"kind": "tensor", "tensor": spec}, *right_tail(b, i)]})


def test_what_a_model_keeps_is_not_poisoned_and_where_outputs_lay_is(bench: Bench) -> None:
    check(bench, right)
    arena = bench.arena("candidate")
    kept = arena.bytes[4096:4104]
    kept.fill_(7)
    check(bench, right)
    assert kept.tolist() == [7] * 8
    arena.renew()
    check(bench, right)
    assert kept.tolist() == [255] * 8


def test_every_forward_of_a_row_is_checked_against_inputs_of_its_own(bench: Bench) -> None:
    def run(wrong: int) -> CheckedCall:
        def call(request: CallRequest, *_: Any) -> CallReply:
            offset = [0]
            views = [tree.decode(inputs, partial(exchanged, bench)) for inputs in request.inputs]
            results = [(torch.relu(x) + bench.reference.state()["bias"], x.argmax(1), float(n)) for x, n in views]
            if wrong >= 0:
                results[wrong] = results[0]
            return CallReply([tree.encode(out, lambda leaf: put(bench, leaf, offset)) for out in results], 0.5)

        runner: Any = SimpleNamespace(call=call)
        seeds = [CallSeeds(number, number) for number in range(3)]
        with roomy(bench):
            return bench.checked_row(runner, "candidate", seeds, 5.0, CallOptions(), [None] * 3)

    assert run(wrong=-1).max_abs_err == 0.0
    for wrong in (1, 2):
        with pytest.raises(Mismatch):
            run(wrong)


@contextlib.contextmanager
def roomy(bench: Bench) -> Iterator[None]:
    """Room for three calls, as a GPU's benches have it for more."""
    usual = bench.exchange
    bench.exchange = Exchange(bench.device, 0, 6 * 8 * 4 + 512, 3)
    bench.write_state(2)
    yield
    bench.exchange.segment.close()
    bench.exchange = usual


def exchanged(bench: Bench, spec_json: Any) -> torch.Tensor:
    """The tensor in the exchange that a description names, as a runner sees it."""
    segment = bench.exchange.segment.bytes
    spec = TensorSpec.from_json(spec_json, {"exchange": segment.numel()})
    flat = segment[spec.offset : spec.offset + spec.extent_bytes]
    return flat.view(getattr(torch, spec.dtype)).as_strided(spec.shape, spec.stride)


def right_tail(bench: Bench, inputs: list[Any]) -> list[Any]:
    offset = [1024]
    items = tree.encode((inputs[0].argmax(1), float(inputs[1])), lambda leaf: put(bench, leaf, offset))["items"]
    return list(items)


def writes(value: float) -> Act:
    def act(bench: Bench, inputs: list[Any]) -> Any:
        reply = right(bench, inputs)
        inputs[0][0, 0] = value
        return reply

    return act


def test_inputs_must_stay_as_they_were(bench: Bench) -> None:
    with pytest.raises(Mismatch, match="changed its input number 1"):
        check(bench, writes(7.0))
    with pytest.raises(Mismatch, match="changed its input number 1"):
        check(bench, writes(struct.unpack("f", b"\xff\xff\xff\x7f")[0]))  # another NaN is another value


def test_an_input_is_no_result(bench: Bench) -> None:
    def act(made: Bench, inputs: list[Any]) -> Any:
        at = inputs[0].data_ptr() - made.exchange.segment.bytes.data_ptr()
        spec = TensorSpec("exchange", at, "float32", (6, 8), (8, 1)).to_json()
        return {"kind": "tuple", "items": [{"kind": "tensor", "tensor": spec}, *right_tail(made, inputs)]}

    with pytest.raises(Mismatch, match="one of its inputs"):
        check(bench, act)


@pytest.mark.parametrize(("factor", "passes"), [(2.0, True), (3.0, False)])
def test_a_reference_that_writes_to_its_input_asks_for_the_same(factor: float, passes: bool) -> None:
    made = bench_of(IN_PLACE)

    def act(bench: Bench, inputs: list[Any]) -> Any:
        doubled = answer(bench, inputs[0] * 2.0)
        inputs[0].mul_(factor)
        return doubled

    with contextlib.nullcontext() if passes else pytest.raises(Mismatch):
        check(made, act)
    made.close()


def test_what_changes_after_the_reply_is_no_result(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The expected output is computed once the found one is secured; a write in between shows."""
    forward = bench.reference.forward

    def late(*arguments: Any) -> Any:
        expected = forward(*arguments)
        bench.arena("candidate").bytes[:192].view(torch.float32).view(6, 8).copy_(expected[0])
        return expected

    monkeypatch.setattr(bench.reference, "forward", late)
    with pytest.raises(SubmissionFault, match="changed after forward had returned") as caught:
        check(bench, lambda b, i: answer(b, (torch.zeros(6, 8), i[0].argmax(1), float(i[1]))))
    assert caught.value.verdict is Verdict.INCORRECT


def test_one_tensor_a_thousand_times_is_no_result(bench: Bench) -> None:
    arena = bench.arena("candidate").bytes.numel()
    leaf = {"kind": "tensor", "tensor": TensorSpec("arena", 0, "uint8", (arena,), (1,)).to_json()}
    with pytest.raises(SubmissionFault, match="lie over each other"):
        check(bench, lambda made, inputs: {"kind": "list", "items": [leaf] * 1000})


Segments = st.sampled_from(["exchange", "arena"])
Specs = st.integers(0, 3).flatmap(
    lambda dims: st.fixed_dictionaries(
        {
            "segment": Segments,
            "offset": st.integers(0, 40).map(lambda n: n * 16) | st.integers(-1, 2**40),
            "dtype": st.sampled_from([*ITEM_BYTES, "float8_e5m2"]),
            "shape": st.just([6, 8][:dims])
            | st.lists(st.integers(0, 9) | st.just(2**40), min_size=dims, max_size=dims),
            "stride": st.just([8, 1][:dims]) | st.lists(st.integers(0, 9), min_size=dims, max_size=dims),
        }
    )
)
Leaves = (
    Specs.map(lambda spec: {"kind": "tensor", "tensor": spec})
    | st.just({"kind": "float", "value": (3.0).hex()})
    | st.sampled_from([{"kind": "float", "value": "nan"}, {"kind": "int", "value": 3}, {"kind": "none"}, None, 7, []])
)
Claims = (
    st.tuples(Leaves, Leaves, Leaves).map(lambda items: {"kind": "tuple", "items": list(items)})
    | st.lists(Leaves, max_size=4).map(lambda items: {"kind": "list", "items": items})
    | Leaves
)


@settings(max_examples=200)
@given(Claims)
def test_any_claim_ends_in_a_verdict(bench: Bench, claim: Any) -> None:
    with pytest.raises((Mismatch, SubmissionFault)):
        check(bench, lambda made, inputs: claim)


def test_a_task_that_does_not_run_is_our_fault() -> None:
    with pytest.raises(GraderFault, match="ZeroDivisionError: broken") as caught:
        bench_of(RAISES)
    assert (caught.value.code, caught.value.retryable) == ("broken_task", False)
