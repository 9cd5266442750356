"""The reward of a verdict, a pure function of stored measurements, so that it can be computed again at any time."""

import math
from typing import Literal

from evaluator.verdicts import Stage, Verdict

RewardMode = Literal["speedup", "roofline"]
REWARD_MODES: tuple[RewardMode, ...] = ("speedup", "roofline")

CORRECT_BASE = 0.3
CORRECT_MIN = 0.1
LOG2_SPEEDUP_MIN = -0.2
LOG2_SPEEDUP_MAX = 3.0
ROOFLINE_SCALE = 2.7
PARTIAL_CREDIT = {Stage.RUNTIME: 0.02, Stage.TIMEOUT: 0.02, Stage.CORRECTNESS: 0.05}


def reward(
    verdict: Verdict,
    *,
    speedup: float | None,
    roofline_frac: float | None,
    mode: RewardMode = "speedup",
    partial_credit: bool = False,
) -> float:
    """Reward of one verdict: 0.1 to 3.3 for a correct kernel by speedup, 0.3 to 3.0 by roofline share, else 0.

    `speedup` is t_ref / t_new; `roofline_frac` is t_min / t_new and may be unknown, in which case the roofline mode
    falls back to the speedup. Raises ValueError for a correct verdict without a positive speedup.
    """
    if verdict is not Verdict.CORRECT:
        return PARTIAL_CREDIT.get(verdict.stage, 0.0) if partial_credit else 0.0
    if speedup is None or not speedup > 0:
        raise ValueError("a correct verdict needs a positive speedup")
    if mode == "roofline" and roofline_frac is not None:
        return CORRECT_BASE + ROOFLINE_SCALE * min(roofline_frac, 1.0)
    gain = min(max(math.log2(speedup), LOG2_SPEEDUP_MIN), LOG2_SPEEDUP_MAX)
    return max(CORRECT_BASE + gain, CORRECT_MIN)  # 0.3 - 0.2 is a little less than 0.1 in binary
