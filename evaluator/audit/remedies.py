"""From the trivial answers that pass to what refuses them: a stricter comparison, further inputs, other timed inputs.

Every remedy is proven before it is adopted: it refuses an answer that passed, and every honest answer still passes.
"""

from dataclasses import dataclass, field, replace

from evaluator.audit.answers import Answer
from evaluator.audit.kinds import ATOL_LADDER, KINDS, RTOL_LADDER, TIMED, TIMED_WITH_SIGNS, Kind, Property
from evaluator.audit.subject import HALF
from evaluator.audit.trying import Trying
from evaluator.judge.precision import ERROR_FLOOR, ERROR_RATIO_MAX
from evaluator.tasks.special_inputs import Comparison, Invariant, Recipe, SpecialInputs


@dataclass
class Outcome:
    """`special` is what the task gets. `refused_by` says for each answer that passed at first what refuses it now.

    `passing` and `passing_timed` are the answers that still pass in trials or in timed calls, `by_precision` those
    among them that only the precision policy refuses, `honest` the honest ones that are refused, `close` those that are
    at half the tolerance.
    """

    special: SpecialInputs
    refused_by: dict[str, list[str]] = field(default_factory=dict)
    passing: list[str] = field(default_factory=list)
    passing_timed: list[str] = field(default_factory=list)
    by_precision: list[str] = field(default_factory=list)
    honest: list[str] = field(default_factory=list)
    close: list[str] = field(default_factory=list)


class Search:
    """One task's search; `inherited` is what the task of its name is held to: it is too, where honest answers pass."""

    def __init__(
        self,
        trying: Trying,
        answers: list[Answer],
        properties: set[Property],
        invariants: tuple[Invariant, ...],
        inherited: SpecialInputs,
    ) -> None:
        self._trying = trying
        self._properties = properties
        self._invariants = invariants
        self._comparison = inherited.comparison
        if trying.refused_honest(None, self._comparison):
            self._comparison = Comparison()
        self._recipes = [recipe for recipe in inherited.recipes if self._admissible(recipe)]
        self._timed = tuple(recipe for recipe in inherited.timed if self._admissible(recipe, timed=True))
        passing = [answer for answer in answers if trying.passes(answer, None, Comparison())]
        self._at_first = [answer for answer in passing if not self._changes_nothing(answer)]
        self._refused_by: dict[str, list[str]] = {answer.name: [] for answer in self._at_first}

    def run(self) -> Outcome:
        """The remedies, and what they leave."""
        if any(answer.defect == "scale" for answer in self._at_first) or (self._at_first and self._invariants):
            self._narrow()
        if any(answer.defect != "scale" for answer in self._at_first):
            self._suit()
        self._cover()
        passing = self._still_passing()
        timed = self._vary_timed_inputs()
        if passing or timed:
            self._tighten()
            self._cover()
            passing = self._still_passing()
            timed = self._vary_timed_inputs()
        names = {answer.name for answer in (*passing, *timed)}
        beyond = [answer.name for answer in self._at_first if answer.name in names and self._is_imprecise(answer)]
        return Outcome(
            SpecialInputs(tuple(self._recipes), self._comparison, self._timed),
            self._refused_by,
            [answer.name for answer in passing if answer.name not in beyond],
            [answer.name for answer in timed if answer.name not in beyond],
            beyond,
            self._refused_honest(1.0),
            self._refused_honest(HALF),
        )

    def _narrow(self) -> None:
        """The tolerance is too wide for the output's scale: shrink it with the output, and ask for its invariants.

        An output of fixed sum or norm is smaller the more elements it has, whatever the size that it is tried at.
        """
        bare = replace(self._comparison, finite_only=self._trying.is_finite(None), invariants=self._invariants)
        for frac in ATOL_LADDER:
            narrow = replace(bare, atol_of_max_frac=min(frac, bare.atol_of_max_frac or frac))
            refused = any(not self._trying.passes(a, None, narrow) for a in self._at_first)
            if (refused or self._invariants) and not self._trying.refused_honest(None, narrow):
                self._comparison = narrow
                return

    def _suit(self) -> None:
        """All kinds that are meant for a function of this sort."""
        for kind in KINDS:
            if self._properties.intersection(kind.suits):
                self._adopt(kind)

    def _cover(self) -> None:
        """One kind after another for what still passes."""
        for kind in KINDS:
            passing = self._still_passing()
            if any(not self._trying.passes(answer, kind.recipe, self._comparison) for answer in passing):
                self._adopt(kind)

    def _adopt(self, kind: Kind) -> None:
        if kind.recipe in self._recipes or not self._admissible(kind.recipe):
            return
        self._recipes.append(kind.recipe)

    def _admissible(self, recipe: Recipe, *, timed: bool = False) -> bool:
        if not self._trying.is_finite(recipe):
            return False
        return not self._trying.refused_honest(recipe, self._comparison, timed=timed)

    def _still_passing(self) -> list[Answer]:
        passing = []
        for answer in self._at_first:
            refusing: list[str] = [
                r.name for r in self._recipes if not self._trying.passes(answer, r, self._comparison)
            ]
            if not self._trying.passes(answer, None, self._comparison):
                refusing.insert(0, "comparison")
            known = self._refused_by[answer.name]
            known += [name for name in refusing if name not in known]
            if not refusing:
                passing.append(answer)
        return passing

    def _vary_timed_inputs(self) -> list[Answer]:
        """Answers that pass on timed inputs, once these are chosen: code may be exact in trials alone."""
        open_answers = self._passing_timed(self._timed[0] if self._timed else None)
        if not open_answers:
            return []
        tried = TIMED_WITH_SIGNS if self._trying.timed_with_signs else TIMED
        left = {recipe: self._passing_timed(recipe) for recipe in tried if self._admissible(recipe, timed=True)}
        best = min(left, key=lambda recipe: len(left[recipe]), default=None)
        if best is None or len(left[best]) >= len(open_answers):
            return open_answers
        self._timed = (best,)
        for answer in open_answers:
            if answer not in left[best]:
                self._refused_by[answer.name].append(f"timed {best.name}")
        return left[best]

    def _tighten(self) -> None:
        """The output hardly varies on any inputs: the loosest of the narrower tolerances that leaves the fewest."""
        before, best = self._comparison, self._comparison
        least = len(self._left())
        for rtol in RTOL_LADDER:
            frac = min(rtol, before.atol_of_max_frac or rtol)
            self._comparison = replace(before, rtol=rtol, atol_of_max_frac=frac)
            if self._refused_honest(HALF):
                break
            if (left := len(self._left())) < least:
                best, least = self._comparison, left
        self._comparison = best

    def _left(self) -> set[str]:
        """Answers that pass in trials or in timed calls."""
        timed = self._passing_timed(self._timed[0] if self._timed else None)
        return {answer.name for answer in (*self._still_passing(), *timed)}

    def _passing_timed(self, recipe: Recipe | None) -> list[Answer]:
        return [a for a in self._at_first if self._trying.passes(a, recipe, self._comparison, timed=True)]

    def _changes_nothing(self, answer: Answer) -> bool:
        """Whether sums that were cut short do not reach the output, as in a layer that is computed and not used."""
        return answer.defect == "statistic" and self._trying.distance(answer, timed=False) == 0.0

    def _is_imprecise(self, answer: Answer) -> bool:
        """Whether the precision policy refuses it wherever it is measured: in one trial, and in every timed call."""
        unit = max(ERROR_FLOOR, self._trying.honest_distance(timed=True))
        return self._trying.distance(answer, timed=True) > ERROR_RATIO_MAX * unit

    def _refused_honest(self, share: float) -> list[str]:
        """By trials of any kind or by timed calls."""
        calls = [(recipe, False) for recipe in (None, *self._recipes)]
        calls += [(recipe, True) for recipe in self._timed or (None,)]
        return sorted(
            {
                name
                for recipe, timed in calls
                for name in self._trying.refused_honest(recipe, self._comparison, timed=timed, share=share)
            }
        )
