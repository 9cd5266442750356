"""Opening, reading and cancelling episodes."""

import secrets
from typing import Any

from sqlalchemy import select

from app.auth import current_project
from app.context import Context
from app.error_codes import ErrorCode
from app.problems import FieldError, Problem
from app.services.submissions import announce_cancelled
from app.services.tasks import servable
from app.services.views import episode_view
from evaluator.prompts import problem
from evaluator.reward import RewardMode
from evaluator.submission import Language
from evaluator.tasks import Task, TaskSetError
from grading import jobs, queries
from grading.jobs import Idempotency, NewEpisode
from grading.models import Slot
from grading.states import SlotRole, SlotState

SEED_BITS = 31


def open_episode(ctx: Context, args: dict[str, Any], idempotency: Idempotency | None) -> tuple[dict[str, Any], bool]:
    """(the episode, whether an earlier request with the same key had opened it). Raises Problem or DomainError."""
    seed = args.get("seed")
    if "task_id" in args:
        task = servable(ctx, args["task_id"])
    else:
        seed = secrets.randbits(SEED_BITS) if seed is None else seed
        task = _draw(ctx, args.get("split", "train"), seed)
    max_turns = args.get("max_turns", ctx.settings.max_turns)
    reward_mode = args.get("reward", ctx.settings.reward)
    new = NewEpisode(
        project_id=current_project(),
        task_id=task.task_id,
        problem=_problem(ctx, task, args["language"], max_turns, reward_mode),
        max_turns=max_turns,
        language=args["language"],
        reward_mode=reward_mode,
        partial_credit=ctx.settings.partial_credit,
        split=task.split,
        seed=seed,
        run_id=args.get("run_id"),
        labels=args.get("labels", {}),
    )
    created = jobs.create_episode(ctx.db, new, idempotency)
    if created.replayed:
        return get_episode(ctx, created.row.id), True
    ctx.log.reset(created.row)
    return episode_view(created.row, []), False


def get_episode(ctx: Context, episode_id: str) -> dict[str, Any]:
    """The episode with its history. Raises NotFound."""
    with ctx.db.read() as session:
        row = queries.episode(session, current_project(), episode_id)
        return episode_view(row, queries.history(session, episode_id))


def cancel_episode(ctx: Context, episode_id: str) -> dict[str, Any]:
    """End the episode and cancel what it has in flight; one that has ended stays as it is. Raises NotFound."""
    _, ended = jobs.cancel_episode(ctx.db, current_project(), episode_id)
    announce_cancelled(ctx, ended)
    return get_episode(ctx, episode_id)


def _draw(ctx: Context, split: Any, seed: int) -> Task:
    try:
        return ctx.tasks.draw(split, seed)
    except TaskSetError as error:
        raise Problem(ErrorCode.UNKNOWN_TASK, f"{error}", errors=[FieldError("#/split", f"{error}")]) from None


def _problem(ctx: Context, task: Task, language: Language, max_turns: int, reward_mode: RewardMode) -> str:
    settings = ctx.settings
    return problem(
        task,
        device=ctx.task_device,
        language=language,
        gpu_name=_gpu_name(ctx),
        limits=settings.limits,
        reward_mode=reward_mode,
        partial_credit=settings.partial_credit,
        max_turns=max_turns,
        precision_policy=settings.precision_policy,
    )


def _gpu_name(ctx: Context) -> str | None:
    """The name of a GPU that serves this installation, for the prompt; None where there is none or none yet."""
    if ctx.settings.evaluator != "gpu":
        return None
    with ctx.db.read() as session:
        ready = select(Slot).where(
            Slot.evaluator == "gpu", Slot.role == SlotRole.GRADER, Slot.state == SlotState.READY
        )
        slots = session.scalars(ready).all()
    names = sorted({str(slot.environment["gpu"]) for slot in slots if slot.environment.get("gpu")})
    return " or ".join(names) or None
