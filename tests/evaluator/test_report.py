"""Results refuse what cannot be, and pass through JSON unchanged."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.config import EvaluatorConfig
from evaluator.feedback import trim_middle
from evaluator.limits import Limits
from evaluator.report import Report, Roofline, Timing
from evaluator.seeds import derive
from evaluator.submission import Submission
from evaluator.verdicts import Stage, Verdict

TIMING = Timing(2.0, 1.0, 2.0, (1.9, 2.1), 10, 1.9, 2.1, 0.9, 1.1, 3.0)
ROOFLINE = Roofline(0.5, "memory", 0.25, 1e9, 4e9)
CORRECT = Report(Verdict.CORRECT, "correct", TIMING, ROOFLINE)

Positive = st.floats(1e-9, 1e9)
Timings = st.builds(
    Timing, Positive, Positive, Positive, st.tuples(Positive, Positive), st.integers(1, 100),
    *[st.none() | Positive] * 5,
)  # fmt: skip
Roofs = st.builds(Roofline, Positive, st.sampled_from(["compute", "memory"]), Positive, Positive, Positive)
Reports = st.builds(
    Report,
    st.just(Verdict.CORRECT),
    st.text(),
    Timings,
    st.none() | Roofs,
    suspicious=st.booleans(),
    max_abs_err=st.none() | Positive,
    error_ratio=st.none() | Positive,
    custom_kernel_share=st.none() | st.floats(0, 1),
    kernels=st.lists(st.fixed_dictionaries({"name": st.text(), "calls": st.integers()}), max_size=3),
    warnings=st.lists(st.text(), max_size=3),
    environment=st.dictionaries(st.text(), st.text(), max_size=3),
    phases=st.dictionaries(st.text(), Positive, max_size=3),
)


@given(Reports)
def test_json_and_back(report: Report) -> None:
    assert Report.from_json(json.loads(json.dumps(report.to_json(), allow_nan=False))) == report
    json.dumps(report.result(), allow_nan=False)


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_passes_through_json(verdict: Verdict) -> None:
    report = Report(verdict, "why", TIMING if verdict is Verdict.CORRECT else None)
    assert Report.from_json(report.to_json()) == report
    assert report.stage is verdict.stage
    assert report.result()["correct"] is (verdict is Verdict.CORRECT)


@pytest.mark.parametrize(
    ("verdict", "changes", "says"),
    [
        *[(v, {"timing": TIMING}, "cannot hold a timing") for v in Verdict if v.stage.order < Stage.TIMING.order],
        (Verdict.CORRECT, {}, "needs a timing"),
        (Verdict.CORRECT, {"timing": TIMING, "roofline_violation": True}, "rejected"),
        (Verdict.INCORRECT, {"max_abs_err": math.nan}, "max_abs_err must be finite"),
        (Verdict.INCORRECT, {"error_ratio": math.inf}, "error_ratio must be finite"),
        (Verdict.INCORRECT, {"custom_kernel_share": math.nan}, "custom_kernel_share must be finite"),
    ],
)
def test_impossible_reports_are_refused(verdict: Verdict, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Report(verdict, "why", **changes)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "field", ["t_ref_ms", "t_new_ms", "speedup", "t_ref_p20_ms", "t_new_p80_ms", "t_ref_ieee_ms", "speedup_ci95"]
)
def test_no_timing_is_without_end(field: str, value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        replace(TIMING, **{field: (1.0, value) if field == "speedup_ci95" else value})


@pytest.mark.parametrize("changes", [{"t_ref_ms": 0.0}, {"t_new_ms": -1.0}, {"speedup": 0.0}, {"pairs": 0}])
def test_times_are_positive(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="positive"):
        replace(TIMING, **changes)


@pytest.mark.parametrize("changes", [{"bound": "latency"}, {"t_min_ms": math.nan}, {"flops": math.inf}])
def test_rooflines(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Roofline"):
        replace(ROOFLINE, **changes)


def test_fractions_follow_from_the_times() -> None:
    assert (CORRECT.roofline_frac, CORRECT.ref_roofline_frac) == (0.5, 0.25)
    result = CORRECT.result()
    assert (result["t_min_ms"], result["roofline_frac"], result["speedup_ci95"]) == (0.5, 0.5, [1.9, 2.1])
    assert replace(CORRECT, roofline=None).roofline_frac is None
    assert Report(Verdict.TIMEOUT, "").result()["roofline_frac"] is None


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown report fields: reward"):
        Report.from_json({**CORRECT.to_json(), "reward": 3.0})


def test_stages_and_verdicts_have_one_order() -> None:
    orders = [verdict.stage.order for verdict in Verdict]
    assert orders == sorted(orders)
    assert Stage.RUNTIME.order == Stage.TIMEOUT.order
    assert {verdict.stage for verdict in Verdict} == set(Stage)


@given(st.text(), st.integers(8, 60))
def test_feedback_is_trimmed_in_the_middle(text: str, limit: int) -> None:
    found = trim_middle(text, limit)
    assert len(found.encode()) <= limit
    if len(text.encode()) <= limit:
        assert found == text
    else:
        head, tail = found.split("\n[...]\n", 1)
        assert text.startswith(head)
        assert text.endswith(tail)


def test_feedback_with_half_characters_becomes_text() -> None:
    assert trim_middle("a\ud800b", 100) == "a?b"


@given(st.binary(min_size=1).map(bytes.hex), st.text(), st.text())
def test_seeds_are_what_torch_takes_and_depend_on_key_and_purpose(key: str, label: str, other: str) -> None:
    seed = derive(key, label)
    assert 0 <= seed < 2**63
    assert derive(key, label) == seed
    assert (derive(key, other) == seed) == (label == other)
    assert derive(f"{key}00", label) != seed or len(key) < 128  # short keys are padded with zeros


def test_settings_and_submissions_pass_through_json() -> None:
    config = EvaluatorConfig("cpu", "/tasks", "/state", limits=Limits(run_s=7.0), require_isolation=("seccomp",))
    assert EvaluatorConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    submission = Submission("sub_1", "level1/19_ReLU", "code", "cuda", "00ff")
    assert Submission.from_json(json.loads(json.dumps(submission.to_json()))) == submission
    with pytest.raises(ValueError, match="language: one of triton, cuda"):
        Submission.from_json({**submission.to_json(), "language": "hip"})
