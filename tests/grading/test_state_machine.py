"""Any order of requests, claims, losses and late writers: every submission ends once, and turns count verdicts."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import func, select

from evaluator.errors import GraderFault
from evaluator.prebuilt import Prebuilt
from evaluator.submission import LANGUAGES, Language
from evaluator.verdicts import Verdict
from grading import jobs
from grading.db import Database
from grading.errors import EpisodeFinished, FenceLost, TurnConflict
from grading.jobs import Claim, Reaper
from grading.models import Attempt, Episode, Slot, Submission
from grading.states import CLAIMED, AttemptEnd, EpisodeStatus, SlotState, SubmissionStatus
from tests.conftest import empty
from tests.grading.support import LAPSED, LEASES, PROJECT, claim, new_episode, open_builder, open_slot, report, submit

MAX_TURNS = 2


class Grading(RuleBasedStateMachine):
    """Drives `grading.jobs` and checks what must hold of the rows after each step."""

    episodes: Bundle[str] = Bundle("episodes")
    claims: Bundle[Claim] = Bundle("claims")
    make_db: Callable[[], Database]

    def __init__(self) -> None:
        super().__init__()
        self.db = type(self).make_db()
        self.slots: list[Slot] = []
        self.fences: dict[str, int] = {}

    def teardown(self) -> None:
        self.db.dispose()

    @initialize()
    def open_slots(self) -> None:
        self.slots = [*(open_slot(self.db, f"gpu-{n}") for n in range(2)), open_builder(self.db)]

    @rule(target=episodes)
    def open_episode(self) -> str:
        return new_episode(self.db, max_turns=MAX_TURNS).id

    @rule(episode_id=episodes, language=st.sampled_from(LANGUAGES))
    def submit_turn(self, episode_id: str, language: Language) -> None:
        with contextlib.suppress(TurnConflict, EpisodeFinished):
            submit(self.db, episode_id=episode_id, language=language)

    @rule(language=st.sampled_from(LANGUAGES))
    def submit_alone(self, language: Language) -> None:
        submit(self.db, language=language)

    @rule(state=st.sampled_from([SlotState.READY, SlotState.DRAINING]))
    def open_or_close_the_builder(self, state: SlotState) -> None:
        builder = self.slots[-1]
        jobs.set_slot_state(self.db, builder.id, builder.incarnation, state)

    @rule(target=claims, which=st.integers(0, 2), lapsed=st.booleans())
    def take(self, which: int, lapsed: bool) -> Claim | None:
        return claim(self.db, self.slots[which], LAPSED if lapsed else LEASES)

    @rule(target=claims)
    def build_one(self) -> Claim | None:
        """At one go, so that many a row gets beyond its build."""
        held = claim(self.db, self.slots[-1])
        self.hand_on(held)
        return held

    @rule(held=claims)
    def hand_on(self, held: Claim | None) -> None:
        if held is not None and held.row.status is SubmissionStatus.COMPILING:
            made = [Prebuilt("9.0", "print", ())]
            self._write(held, lambda c: jobs.make_ready(self.db, c.submission_id, c.fence, made, {"build": 1.0}))

    @rule(held=claims, verdict=st.sampled_from([Verdict.CORRECT, Verdict.INCORRECT]))
    def finish(self, held: Claim | None, verdict: Verdict) -> None:
        self._write(held, lambda c: jobs.finish(self.db, c.submission_id, c.fence, report(verdict)))

    @rule(held=claims, code=st.sampled_from(["device_fault", "no_space"]))
    def fail(self, held: Claim | None, code: str) -> None:
        fault = GraderFault(code, "detail")
        self._write(held, lambda c: jobs.finish_fault(self.db, c.submission_id, c.fence, fault, LEASES))

    @rule(held=claims)
    def hand_back(self, held: Claim | None) -> None:
        self._write(held, lambda c: jobs.hand_back(self.db, c.submission_id, c.fence))

    @rule(held=claims)
    def cancel(self, held: Claim | None) -> None:
        if held is not None:
            jobs.cancel_submission(self.db, PROJECT, held.submission_id)

    @rule(episode_id=episodes)
    def cancel_episode(self, episode_id: str) -> None:
        jobs.cancel_episode(self.db, PROJECT, episode_id)

    @rule()
    def reap(self) -> None:
        Reaper(self.db, LAPSED).run_once()

    def _write(self, held: Claim | None, write: Callable[[Claim], object]) -> None:
        """A write by a claim, which may be the present one or long lost: the fence tells."""
        if held is None:
            return
        with self.db.read() as session:
            row = session.get(Submission, held.submission_id)
            assert row is not None
            present = row.fence == held.fence and row.status in CLAIMED
            written = row.fence == held.fence and row.status in (SubmissionStatus.COMPLETED, SubmissionStatus.READY)
        try:
            write(held)
        except FenceLost:
            assert not present
        else:
            assert present or written, "a lost claim wrote"

    @invariant()
    def each_ends_once(self) -> None:
        with self.db.read() as session:
            for row in session.scalars(select(Submission)):
                mine = select(Attempt).where(Attempt.submission_id == row.id).order_by(Attempt.fence)
                attempts = session.scalars(mine).all()
                ended = [attempt.outcome for attempt in attempts]
                blamed = row.status is SubmissionStatus.COMPLETED and ended[-1] is AttemptEnd.FAULT
                assert ended.count(AttemptEnd.VERDICT) + blamed == (row.status is SubmissionStatus.COMPLETED)
                assert ended.count(None) == (row.status in CLAIMED)
                numbers = [1 + at - ended[:at].count(AttemptEnd.BUILT) for at in range(len(ended))]
                assert [attempt.number for attempt in attempts] == numbers
                assert row.attempt == max(numbers, default=0)
                assert row.builds is not None or row.status is not SubmissionStatus.READY
                assert (row.reward is None) == (row.status is not SubmissionStatus.COMPLETED)
                assert (row.finished_at_ms is not None) == row.status.finished
                assert row.fence >= self.fences.get(row.id, 0)
                self.fences[row.id] = row.fence

    @invariant()
    def turns_count_verdicts(self) -> None:
        with self.db.read() as session:
            for row in session.scalars(select(Episode)):
                of_episode = select(func.count()).where(Submission.episode_id == row.id)
                verdicts = session.scalars(of_episode.where(Submission.verdict.is_not(None))).one()
                assert verdicts == row.turns_used <= MAX_TURNS
                if row.status is EpisodeStatus.FINISHED:
                    assert row.turns_used == MAX_TURNS


def test_any_order_of_events(database_url: str, tmp_path: Path) -> None:
    if database_url.startswith("sqlite"):
        template = Path(database_url.removeprefix("sqlite:///"))

        def make_db() -> Database:
            path = Path(tempfile.mkdtemp(dir=tmp_path)) / "run.db"
            shutil.copy(template, path)
            return Database(f"sqlite:///{path}")
    else:

        def make_db() -> Database:
            empty(database_url)
            return Database(database_url)

    class Here(Grading):
        pass

    Here.make_db = staticmethod(make_db)  # type: ignore[assignment]
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=30,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        ),
    )
