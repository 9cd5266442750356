"""Keeps what every answer gives on every case, so that each is computed once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import torch

from evaluator.audit.answers import Answer, Honest, NotApplicable
from evaluator.audit.subject import DRAWS, HALF, Case, Subject
from evaluator.judge.compare import relative_l2
from evaluator.judge.precision import finite
from evaluator.judge.reference import total_bytes
from evaluator.tasks.special_inputs import Comparison, Recipe

NO_ANSWER = object()
# What a statistic of a smaller sample is worse by, at the most, and by how much more than needed a remedy has to refuse
# it then: the audit of reduced sizes errs on the safe side.
SLACK_MAX = 8.0
MARGIN = 2.0


class Trying:
    """`slack`: by how much wider the tolerance is in which statistics count as passing: smaller samples scatter more.

    `kept_bytes_max` bounds what is kept of cases and answers; the rest is computed again when it is asked for again.
    """

    def __init__(
        self, subject: Subject, honest: tuple[Honest, ...], *, slack: float = 1.0, kept_bytes_max: float = 2e9
    ) -> None:
        self._subject = subject
        self._honest = honest
        self._slack = min(max(slack, 1.0), SLACK_MAX)
        self._kept = _Kept(kept_bytes_max)
        self._verdicts: dict[Hashable, bool] = {}
        self.skipped: dict[str, str] = {}
        self.timed_with_signs = subject.timed_with_signs

    def case(self, recipe: Recipe | None, draw: int, *, timed: bool = False) -> Case:
        """The reference's own call; `timed` ones have random signs where the task is timed so."""
        signed = timed and self._subject.timed_with_signs
        key = (recipe, draw, signed)
        made: Case = self._kept.get(key, lambda: self._subject.case(recipe, draw, signed=signed))
        return made

    def is_finite(self, recipe: Recipe | None) -> bool:
        """Whether the reference gives no NaN and no infinity on this kind."""
        return all(finite(self.case(recipe, draw).expected) for draw in DRAWS)

    def passes(self, answer: Answer, recipe: Recipe | None, comparison: Comparison, *, timed: bool = False) -> bool:
        """Whether an answer is accepted on every draw of a kind, or would be at full size."""
        slack = self._slack if recipe is None else min(self._slack, MARGIN)
        share = slack if answer.defect == "statistic" else 1.0
        return all(self._accepted(answer, self.case(recipe, d, timed=timed), comparison, share) for d in DRAWS)

    def refused_honest(
        self, recipe: Recipe | None, comparison: Comparison, *, timed: bool = False, share: float = HALF
    ) -> list[str]:
        """Names of honest answers that are refused at a share of the tolerance."""
        cases = [self.case(recipe, draw, timed=timed) for draw in DRAWS]
        return [
            honest.name
            for honest in self._honest
            if not all(self._accepted(honest, case, comparison, share, none_passes=True) for case in cases)
        ]

    def distance(self, answer: Answer, *, timed: bool) -> float:
        """The smallest relative L2 distance of an answer from what is expected of it, over the draws."""
        cases = [self.case(None, draw, timed=timed) for draw in DRAWS]
        return min(relative_l2(self._answer(answer, case), case.expected) for case in cases)

    def honest_distance(self, *, timed: bool) -> float:
        """The largest distance of an honest answer."""
        cases = [self.case(None, draw, timed=timed) for draw in DRAWS]
        found = [(self._answer(honest, case), case) for honest in self._honest for case in cases]
        return max((relative_l2(f, case.expected) for f, case in found if f is not NO_ANSWER), default=0.0)

    def _accepted(
        self, answer: Answer | Honest, case: Case, comparison: Comparison, share: float, *, none_passes: bool = False
    ) -> bool:
        key = (answer.name, case.recipe, case.draw, case.signed, comparison, share)
        if key not in self._verdicts:
            found = self._answer(answer, case)
            if found is NO_ANSWER:
                return none_passes
            self._verdicts[key] = self._subject.accepts(found, case, comparison, share=share)
        return self._verdicts[key]

    def _answer(self, answer: Answer | Honest, case: Case) -> Any:
        key = (answer.name, case.recipe, case.draw, case.signed)
        return self._kept.get(key, lambda: self._made(answer, case))

    def _made(self, answer: Answer | Honest, case: Case) -> Any:
        try:
            return answer.make(self._subject, case)
        except torch.OutOfMemoryError:
            if isinstance(answer, Answer):
                raise  # nothing is known of a task on which it was not tried
            self.skipped[answer.name] = "it does not fit into this device's memory"
            return NO_ANSWER
        except Exception as error:  # noqa: BLE001 - a model may refuse to run in float64 or under a changed operator
            if not isinstance(error, NotApplicable):
                self.skipped[answer.name] = f"{type(error).__name__}: {error}"[:200]
            return NO_ANSWER


class _Kept:
    """The most recent results, up to so many bytes."""

    def __init__(self, bytes_max: float) -> None:
        self._bytes_max = bytes_max
        self._items: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._items:
            self._items[key] = make()
        self._items.move_to_end(key)
        while len(self._items) > 1 and sum(_bytes(item) for item in self._items.values()) > self._bytes_max:
            self._items.popitem(last=False)
        return self._items[key]


def _bytes(item: Any) -> int:
    return total_bytes([item.inputs, item.expected]) if isinstance(item, Case) else total_bytes(item)
