"""In roofline mode a reward is `0.3 + 2.7 * min(t_min / t_new, 1)` of what is stored beside it, on every result."""

import itertools
from typing import Any

import pytest

from evaluator.judge.verdict import judgement
from evaluator.limits import Limits
from evaluator.report import Timing
from evaluator.reward import reward
from evaluator.roofline.model import Work
from evaluator.roofline.peaks import PEAKS
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.models import Submission
from tests.grading.support import must_claim, open_slot, row, submit

GPUS = [peaks for _, peaks in PEAKS if peaks.name in ("H200 SXM", "T4", "B200 SXM")]
WORKS = {
    "relu": Work(0.0, 6_400_000_000, 0, 6_400_000_000, "float32"),
    "matmul": Work(2 * 4096.0**3, 134_217_728, 0, 67_108_864, "float32", flops_necessary=True),
    "diagonal": Work(2 * 4096.0**3, 67_125_248, 0, 67_108_864, "float32", required_bytes=67_125_248),
    "tiny": Work(0.0, 4096, 0, 4096, "float16"),
}
# from far slower than any roofline to far below all of them
TIMES_MS = (1e3, 30.0, 3.1, 0.47, 0.05, 1e-4)


def from_stored(result: dict[str, Any]) -> float:
    """The formula, from the stored measurements alone."""
    return float(0.3 + 2.7 * min(result["t_min_ms"] / result["t_new_ms"], 1.0)) if result["correct"] else 0.0


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_the_stored_reward_follows_from_the_stored_measurements(db: Database, work: Work) -> None:
    slot = open_slot(db)
    seen = set()
    for number, (peaks, t_new_ms) in enumerate(itertools.product(GPUS, TIMES_MS)):
        submit(db, f"code {number}", reward_mode="roofline")
        claim = must_claim(db, slot)
        timing = Timing(1.0, t_new_ms, 1.0 / t_new_ms, (1.0 / t_new_ms, 1.0 / t_new_ms), pairs=3)
        jobs.finish(db, claim.submission_id, claim.fence, judgement(work, timing, peaks, Limits()))
        stored = row(db, claim.submission_id)
        assert stored.result is not None
        assert stored.reward == from_stored(stored.result) == again(stored)
        seen.add(stored.verdict)
    assert Verdict.CORRECT in seen


def test_without_a_roofline_the_speedup_pays(db: Database) -> None:
    slot = open_slot(db)
    submit(db, reward_mode="roofline")
    claim = must_claim(db, slot)
    timing = Timing(1.0, 0.5, 2.0, (2.0, 2.0), pairs=3)
    jobs.finish(db, claim.submission_id, claim.fence, judgement(WORKS["relu"], timing, None, Limits()))
    stored = row(db, claim.submission_id)
    assert stored.result is not None
    assert stored.result["t_min_ms"] is None
    assert stored.reward == pytest.approx(1.3) == again(stored)


def again(stored: Submission) -> float:
    """The reward as it is computed from a stored row under a mode that is asked for later."""
    found = stored.result or {}
    assert stored.verdict is not None
    return reward(stored.verdict, speedup=found["speedup"], roofline_frac=found["roofline_frac"], mode="roofline")
