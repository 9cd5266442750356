"""The Celery tasks: a bell was rung, so claim the best row, have it built or graded, and look for more."""

from collections.abc import Callable
from typing import Any

from structlog import get_logger
from structlog.contextvars import bound_contextvars

import workers.drain  # noqa: F401 - connects its signal
from grading.celery_app import BUILD, GRADE
from grading.jobs import Claim
from workers.app import app
from workers.build import build
from workers.grade import grade
from workers.runtime import TRANSIENT, Runtime, runtime

log = get_logger(__name__)


@app.task(name=GRADE, bind=True)  # type: ignore[untyped-decorator]
def answer_bell(self: Any) -> dict[str, str | None]:
    """Grade one submission, if one waits. What is returned and sent is for Flower alone."""
    return _answer(self, grade)


@app.task(name=BUILD, bind=True)  # type: ignore[untyped-decorator]
def answer_builders_bell(self: Any) -> dict[str, str | None]:
    """Build one submission, if one waits."""
    return _answer(self, build)


def _answer(task: Any, work: Callable[[Runtime, Claim, Callable[[], None]], str | None]) -> dict[str, str | None]:
    here = runtime()
    try:
        claim = here.claim()
    except TRANSIENT as error:
        # the row waits on in the database that is away; idle slots look again by themselves
        log.warning("claim_failed", error=repr(error))
        return {"submission": None, "verdict": None}
    if claim is None:
        here.pass_on()
        return {"submission": None, "verdict": None}
    row = claim.row
    about = {"submission_id": row.id, "episode_id": row.episode_id, "run_id": row.run_id, "attempt": claim.attempt}
    with bound_contextvars(**about):  # every line that is written meanwhile says what it is about
        here.evaluations.lifecycle("claimed", row, fence=claim.fence)
        verdict = work(here, claim, lambda: _announce(here, task, claim))
    here.look_for_more()
    return {"submission": claim.submission_id, "verdict": verdict}


def _announce(here: Runtime, task: Any, claim: Claim) -> None:
    """Tell watchers, and ring for what the claim left behind."""
    here.watchers.grading(task, claim)
    here.ring_after(claim)
