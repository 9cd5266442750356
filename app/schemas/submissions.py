"""Submissions on the wire."""

from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema
from webargs.fields import DelimitedList

from app.schemas.common import PageQuery
from app.schemas.fields import Labels, Number, Pattern, Text, Whole, name, run_id
from evaluator.submission import LANGUAGES
from evaluator.verdicts import Stage, Verdict
from grading.states import Priority, SubmissionStatus

PRIORITIES = tuple(priority.name.lower() for priority in Priority)
DEADLINE_MAX_S = 7 * 24 * 3600
IDS_MAX = 100
ID = r"^sub_[0-9A-HJKMNP-TV-Z]{26}$"
STATUSES = tuple(str(status) for status in SubmissionStatus)
# what `_one_target` checks, for the document
ONE_TARGET = {
    "oneOf": [
        {"required": ["episode_id"], "not": {"required": ["task_id"]}},
        {"required": ["task_id"], "not": {"anyOf": [{"required": ["episode_id"]}, {"required": ["turn"]}]}},
    ]
}
EXAMPLE = {"task_id": "level1/19_ReLU", "code": "import torch\n...", "language": "triton"}


class SubmissionCreate(Schema):
    """One source, for an episode's present turn or for a task on its own."""

    episode_id = name(metadata={"description": "Either this or `task_id`."})
    task_id = name(256, metadata={"description": "Grades the source on its own, outside of any episode."})
    code = Text(
        required=True,
        metadata={"description": "A complete Python source that defines `ModelNew`; at most 256 KiB."},
    )
    language = fields.String(
        validate=validate.OneOf(LANGUAGES), metadata={"description": "Default: the episode's, else triton."}
    )
    turn = Whole(
        validate=validate.Range(min=1, max=2**31 - 1),
        metadata={"description": "The turn that this is for: a guard against sending one twice."},
    )
    priority = fields.String(load_default="normal", validate=validate.OneOf(PRIORITIES))
    gpu = name(metadata={"description": "Grade on this kind of GPU only."})
    deadline_s = Number(
        validate=validate.Range(min=1, max=DEADLINE_MAX_S),
        metadata={"description": "Expires when it was not graded within this time; default 3600."},
    )
    dedupe = fields.String(
        load_default="off",
        validate=validate.OneOf(("off", "run")),
        metadata={"description": "`run`: a verdict on the same source in the same run may be reused."},
    )
    run_id = run_id(metadata={"description": "The training run that this belongs to."})
    labels = Labels()

    @validates_schema(skip_on_field_errors=True)
    def _one_target(self, data: dict[str, Any], **kwargs: Any) -> None:
        if ("episode_id" in data) == ("task_id" in data):
            raise ValidationError("Give either episode_id or task_id.")
        if "turn" in data and "episode_id" not in data:
            raise ValidationError("A turn belongs to an episode.", "turn")


class SubmissionQuery(PageQuery):
    """Filters of a list; all of them hold at once."""

    ids = DelimitedList(
        fields.String(validate=Pattern(ID, error="Not the id of a submission.")),
        validate=validate.Length(min=1, max=IDS_MAX),
        metadata={"description": f"Comma list of up to {IDS_MAX} ids; those that are not yours are left out."},
    )
    run_id = run_id()
    episode_id = name()
    batch_id = name()
    task_id = name(256)
    status = DelimitedList(
        fields.String(validate=validate.OneOf(STATUSES)),
        validate=validate.Length(min=1, max=len(STATUSES)),
        metadata={"description": "Comma list; any of them."},
    )


class QueueSchema(Schema):
    """An estimate of what lies before a waiting submission."""

    position = fields.Integer(required=True, metadata={"description": "1 is next."})
    eta_s = fields.Float(required=True, allow_none=True)


class ResultSchema(Schema):
    """What was found and measured; null where a grade did not get that far."""

    correct = fields.Boolean(required=True)
    feedback = fields.String(required=True, metadata={"description": "Written for whoever repairs the kernel."})
    max_abs_err = fields.Float(required=True, allow_none=True)
    error_ratio = fields.Float(required=True, allow_none=True)
    speedup = fields.Float(required=True, allow_none=True, metadata={"description": "t_ref / t_new, paired median."})
    speedup_ci95 = fields.List(fields.Float(), required=True, allow_none=True)
    t_ref_ms = fields.Float(required=True, allow_none=True)
    t_new_ms = fields.Float(required=True, allow_none=True)
    t_ref_ieee_ms = fields.Float(required=True, allow_none=True)
    pairs = fields.Integer(required=True, allow_none=True)
    t_min_ms = fields.Float(required=True, allow_none=True, metadata={"description": "The roofline's floor."})
    bound = fields.String(required=True, allow_none=True, validate=validate.OneOf(("compute", "memory", None)))
    arithmetic_intensity = fields.Float(required=True, allow_none=True)
    roofline_frac = fields.Float(required=True, allow_none=True, metadata={"description": "t_min / t_new"})
    ref_roofline_frac = fields.Float(required=True, allow_none=True, metadata={"description": "t_min / t_ref"})
    roofline_violation = fields.Boolean(required=True)
    suspicious = fields.Boolean(required=True)
    custom_kernel_share = fields.Float(required=True, allow_none=True)
    kernels = fields.List(fields.Dict(), required=True)
    warnings = fields.List(fields.String(), required=True)
    rules = fields.List(
        fields.String(), required=True, metadata={"description": "Ids of the rules that a refused submission broke."}
    )


class TimingsSchema(Schema):
    """Where the time went, in seconds."""

    queue_wait_s = fields.Float(required=True, allow_none=True)
    eval_s = fields.Float(required=True, allow_none=True)
    phases = fields.Dict(keys=fields.String(), values=fields.Float(), required=True)


class SubmissionErrorSchema(Schema):
    """Why there is no verdict: our fault, a deadline or a request to stop; never the kernel's."""

    code = fields.String(required=True)
    title = fields.String(required=True)
    detail = fields.String(required=True)
    retryable = fields.Boolean(required=True)


class SubmissionSchema(Schema):
    """A submission: its lifecycle (`status`) and, once there is one, its verdict."""

    id = fields.String(required=True)
    status = fields.String(required=True, validate=validate.OneOf(STATUSES))
    stage = fields.String(required=True, allow_none=True, validate=validate.OneOf([*(str(s) for s in Stage), None]))
    verdict = fields.String(
        required=True, allow_none=True, validate=validate.OneOf([*(str(v) for v in Verdict), None])
    )
    reward = fields.Float(
        required=True, allow_none=True, metadata={"description": "Null without a verdict: leave the sample out."}
    )
    episode_id = fields.String(required=True, allow_none=True)
    task_id = fields.String(required=True)
    language = fields.String(required=True, validate=validate.OneOf(LANGUAGES))
    turn = fields.Integer(required=True, allow_none=True)
    attempt = fields.Integer(required=True, metadata={"description": "How often grading began; 0 while it waits."})
    phase = fields.String(required=True, allow_none=True, metadata={"description": "What is going on just now."})
    priority = fields.String(required=True, validate=validate.OneOf(PRIORITIES))
    gpu = fields.String(required=True, allow_none=True)
    run_id = fields.String(required=True, allow_none=True)
    batch_id = fields.String(required=True, allow_none=True)
    custom_id = fields.String(required=True, allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    queue = fields.Nested(QueueSchema, required=True, allow_none=True)
    result = fields.Nested(ResultSchema, required=True, allow_none=True)
    environment = fields.Dict(
        required=True, allow_none=True, metadata={"description": "Device, isolation and versions of the grade."}
    )
    timings = fields.Nested(TimingsSchema, required=True)
    code_sha = fields.String(required=True, metadata={"description": "12 hex digits of the source's SHA-1."})
    deduped_from = fields.String(
        required=True, allow_none=True, metadata={"description": "The submission whose verdict was reused."}
    )
    regrade_of = fields.String(
        required=True, allow_none=True, metadata={"description": "The submission that this grades again."}
    )
    error = fields.Nested(SubmissionErrorSchema, required=True, allow_none=True)
    created_at = fields.String(required=True, metadata={"format": "date-time"})
    started_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})
    finished_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})
    deadline_at = fields.String(required=True, metadata={"format": "date-time"})


class SubmissionPageSchema(Schema):
    """One page of submissions, newest first."""

    data = fields.List(fields.Nested(SubmissionSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)
