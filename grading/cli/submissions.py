"""Submissions: sent back to wait, or cancelled."""

from typing import Annotated, Any

import typer

from grading import jobs
from grading.cli.context import Operator, operator
from grading.cli.output import AsJson, show
from grading.errors import NotFound
from grading.models import Submission
from grading.states import SubmissionStatus

COLUMNS = ("submission", "status", "attempt", "losses")

Ids = Annotated[list[str] | None, typer.Argument(help="Submissions, by id.")]


def _view(row: Submission) -> dict[str, Any]:
    return {
        "submission": row.id,
        "project": row.project_id,
        "run": row.run_id,
        "status": str(row.status),
        "attempt": row.attempt,
        "losses": row.losses,
    }


def requeue(
    ids: Ids = None,
    slot: Annotated[str | None, typer.Option(help="All that this slot is grading.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take running submissions off their slots, at no cost to them, and ring anew for waiting ones."""
    if bool(ids) == bool(slot):
        raise typer.BadParameter("name submissions, or a slot with --slot")
    with operator() as here:
        rows = [jobs.requeue(here.db, name) for name in ids or jobs.held_by(here.db, str(slot))]
        for row in rows:
            here.hints.cancelled(row)
            here.log.lifecycle("requeued", row)
        here.ringer.ring_for([row.id for row in rows])
    show([_view(row) for row in rows], COLUMNS, as_json=as_json, empty="Nothing runs there.")


def cancel(
    ids: Ids = None,
    run: Annotated[str | None, typer.Option(help="All that is unfinished of this run, with its episodes.")] = None,
    project: Annotated[str | None, typer.Option(help="Whose run it is.")] = None,
    as_json: AsJson = False,
) -> None:
    """Cancel submissions, waiting or running; what has ended stays as it is."""
    if bool(ids) == bool(run) or bool(run) != bool(project):
        raise typer.BadParameter("name submissions, or a run with --run and --project")
    with operator() as here:
        rows = [_cancelled(here, name) for name in ids or ()]
        if run and project:
            jobs.cancel_run(here.db, project, run, rows.append)
        for row in rows:
            if row.status is SubmissionStatus.CANCELLED:
                here.hints.cancelled(row)
                here.log.lifecycle("cancelled", row)
    show([_view(row) for row in rows], COLUMNS, as_json=as_json, empty="Nothing was unfinished.")


def _cancelled(here: Operator, submission_id: str) -> Submission:
    with here.db.read() as session:
        row = session.get(Submission, submission_id)
    if row is None:
        raise NotFound(f"there is no submission {submission_id}")
    return jobs.cancel_submission(here.db, row.project_id, submission_id)
