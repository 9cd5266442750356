"""Episodes on the wire."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema
from webargs.fields import DelimitedList

from app.schemas.common import PageQuery
from app.schemas.fields import Labels, Whole, name, run_id
from evaluator.reward import REWARD_MODES
from evaluator.submission import LANGUAGES
from evaluator.tasks.task import SPLITS
from evaluator.verdicts import Stage, Verdict
from grading.states import EpisodeStatus

TURNS_MAX = 1000
SEED_MAX = 2**63 - 1
EXAMPLE = {"task_id": "level1/19_ReLU"}
STATUSES = tuple(str(status) for status in EpisodeStatus)
# what `_one_source` checks, for the document
ONE_SOURCE = {"not": {"required": ["task_id", "split"]}}


class EpisodeCreate(Schema):
    """Names a task, or lets one be drawn from a split."""

    task_id = name(256, metadata={"description": "Either this or `split`."})
    split = fields.String(
        validate=validate.OneOf(SPLITS),
        metadata={"description": "Draw the task from this split; `train` where no task is named."},
    )
    seed = Whole(
        validate=validate.Range(min=0, max=SEED_MAX),
        metadata={"description": "The same seed draws the same task from the same set; random by default."},
    )
    language = fields.String(load_default="triton", validate=validate.OneOf(LANGUAGES))
    max_turns = Whole(
        validate=validate.Range(min=1, max=TURNS_MAX), metadata={"description": "Default: KERNEL_ENV_MAX_TURNS."}
    )
    reward = fields.String(
        validate=validate.OneOf(REWARD_MODES), metadata={"description": "Default: KERNEL_ENV_REWARD."}
    )
    run_id = run_id(metadata={"description": "The training run that this belongs to."})
    labels = Labels()

    @validates_schema(skip_on_field_errors=True)
    def _one_source(self, data: dict[str, Any], **kwargs: Any) -> None:
        if "task_id" in data and "split" in data:
            raise ValidationError("Give either task_id or split.", "split")


class EpisodeQuery(PageQuery):
    """Filters of a list; all of them hold at once."""

    run_id = run_id()
    task_id = name(256)
    status = DelimitedList(
        fields.String(validate=validate.OneOf(STATUSES)),
        validate=validate.Length(min=1, max=len(STATUSES)),
        metadata={"description": "Comma list; any of them."},
    )


class TurnSchema(Schema):
    """One verdict of an episode's history."""

    turn = fields.Integer(required=True)
    submission_id = fields.String(required=True)
    stage = fields.String(required=True, validate=validate.OneOf([str(s) for s in Stage]))
    verdict = fields.String(required=True, validate=validate.OneOf([str(v) for v in Verdict]))
    speedup = fields.Float(required=True, allow_none=True)
    reward = fields.Float(required=True)
    roofline_frac = fields.Float(required=True, allow_none=True)
    roofline_violation = fields.Boolean(required=True)
    suspicious = fields.Boolean(required=True)
    gpu_id = fields.String(required=True, allow_none=True)
    queue_wait_s = fields.Float(required=True, allow_none=True)
    eval_s = fields.Float(required=True, allow_none=True)
    code_sha = fields.String(required=True)
    phases = fields.Dict(keys=fields.String(), values=fields.Float(), required=True)


class EpisodeSchema(Schema):
    """An episode: one task, up to `max_turns` verdicts."""

    id = fields.String(required=True)
    status = fields.String(required=True, validate=validate.OneOf(STATUSES))
    task_id = fields.String(required=True)
    split = fields.String(required=True, allow_none=True, validate=validate.OneOf([*SPLITS, None]))
    seed = fields.Integer(required=True, allow_none=True)
    language = fields.String(required=True, validate=validate.OneOf(LANGUAGES))
    problem = fields.String(required=True, metadata={"description": "The prompt for the policy."})
    turn = fields.Integer(required=True, metadata={"description": "The turn that the next verdict will be for."})
    max_turns = fields.Integer(required=True)
    done = fields.Boolean(required=True, metadata={"description": "Turns used up, cancelled or expired."})
    best_speedup = fields.Float(required=True, allow_none=True)
    reward = fields.String(required=True, validate=validate.OneOf(REWARD_MODES))
    run_id = fields.String(required=True, allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    history = fields.List(fields.Nested(TurnSchema), required=True)
    next_prompt = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "What to tell the policy before its next turn; null before the first verdict."},
    )
    created_at = fields.String(required=True, metadata={"format": "date-time"})
    finished_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})


class EpisodePageSchema(Schema):
    """One page of episodes, newest first."""

    data = fields.List(fields.Nested(EpisodeSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)
