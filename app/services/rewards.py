"""The reward of a stored verdict, computed again under any setting."""

from typing import Any

from app.auth import current_project
from app.context import Context
from evaluator.reward import reward
from grading import queries


def reward_under(ctx: Context, submission_id: str, query: dict[str, Any]) -> dict[str, Any]:
    """Reward by `mode` and `partial_credit`, each as graded where left out. Raises NotFound."""
    with ctx.db.read() as session:
        row = queries.submission(session, current_project(), submission_id)
    mode = query.get("mode", row.reward_mode)
    partial_credit = query.get("partial_credit", row.partial_credit)
    result = row.result or {}
    value = None
    if row.verdict is not None:
        value = reward(
            row.verdict,
            speedup=result.get("speedup"),
            roofline_frac=result.get("roofline_frac"),
            mode=mode,
            partial_credit=partial_credit,
        )
    return {"submission_id": row.id, "mode": mode, "partial_credit": partial_credit, "reward": value}
