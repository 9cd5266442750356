"""Tasks on the wire."""

from marshmallow import Schema, fields, validate

from app.schemas.fields import Pattern, QueryWhole, name, run_id
from evaluator.tasks.task import SPLITS

PAGE_MAX = 500
LEADERS_MAX = 100
CURSOR = r"^level[1-9][0-9]?/[1-9][0-9]{0,4}_[A-Za-z0-9_.\-]{1,160}$"


class TaskQuery(Schema):
    """Filters and the page of a listing."""

    level = QueryWhole(validate=validate.Range(min=1, max=99))
    split = fields.String(validate=validate.OneOf(SPLITS))
    cursor = fields.String(
        validate=Pattern(CURSOR, error="Not a cursor of this list."),
        metadata={"description": "`next_cursor` of the page before."},
    )
    limit = QueryWhole(load_default=100, validate=validate.Range(min=1, max=PAGE_MAX))


class TaskSchema(Schema):
    """One task of the catalogue."""

    id = fields.String(required=True, metadata={"example": "level1/19_ReLU"})
    level = fields.Integer(required=True)
    number = fields.Integer(required=True)
    name = fields.String(required=True)
    split = fields.String(required=True, validate=validate.OneOf(SPLITS))
    family = fields.String(required=True, metadata={"description": "Operators of one kind share it."})
    supported = fields.Boolean(required=True, metadata={"description": "Whether submissions are taken for it."})


class KindSchema(Schema):
    """What sort of task it is."""

    operators = fields.List(fields.String(), required=True, metadata={"description": "torch's names, in lower case."})
    dtypes = fields.List(fields.String(), required=True)
    parameters = fields.Boolean(required=True, metadata={"description": "Whether the model has weights."})
    random = fields.Boolean(required=True, metadata={"description": "Whether `forward` draws random numbers."})


class AuditSchema(Schema):
    """What trivial answers pass on the task, and what was done about it."""

    passed = fields.Boolean(required=True, metadata={"description": "Tasks that fail are not served for training."})
    device = fields.String(required=True)
    sizes = fields.String(required=True, validate=validate.OneOf(["reduced", "full"]))
    failures = fields.List(fields.String(), required=True)
    findings = fields.List(fields.String(), required=True)
    facts = fields.Dict(required=True, metadata={"description": "Shapes, dtypes and properties that were seen."})
    passed_at_first = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        required=True,
        metadata={"description": "Trivial answers that passed on the task's own inputs, with what refuses them now."},
    )


class TaskDetailSchema(TaskSchema):
    """A task with what a submission is held against."""

    source = fields.String(required=True, metadata={"description": "The reference, as in the task's file."})
    problems = fields.List(fields.String(), required=True, metadata={"description": "Why it is not served."})
    kind = fields.Nested(KindSchema, required=True, metadata={"description": "As the text of the reference tells."})
    special_inputs = fields.List(
        fields.String(), required=True, metadata={"description": "Inputs that correctness is checked on as well."}
    )
    audit = fields.Nested(
        AuditSchema,
        required=True,
        allow_none=True,
        metadata={"description": "What an audit of this text found; null before there was one."},
    )


class TaskPageSchema(Schema):
    """One page of tasks, by level and number."""

    data = fields.List(fields.Nested(TaskSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)


class LeaderboardQuery(Schema):
    """Which verdicts compete."""

    gpu = name(metadata={"description": "On this device only, as `environment.gpu` has it: others do not compare."})
    run_id = run_id()
    limit = QueryWhole(load_default=20, validate=validate.Range(min=1, max=LEADERS_MAX))


class LeaderSchema(Schema):
    """The best verdict on one source."""

    rank = fields.Integer(required=True)
    submission_id = fields.String(required=True)
    episode_id = fields.String(required=True, allow_none=True)
    run_id = fields.String(required=True, allow_none=True)
    speedup = fields.Float(required=True)
    speedup_ci95 = fields.List(fields.Float(), required=True, allow_none=True)
    reward = fields.Float(required=True)
    t_ref_ms = fields.Float(required=True, allow_none=True)
    t_new_ms = fields.Float(required=True, allow_none=True)
    roofline_frac = fields.Float(required=True, allow_none=True)
    suspicious = fields.Boolean(required=True)
    language = fields.String(required=True)
    gpu = fields.String(required=True, allow_none=True)
    code_sha = fields.String(required=True)
    finished_at = fields.String(required=True, metadata={"format": "date-time"})


class LeaderboardSchema(Schema):
    """The best correct verdicts on a task, each source once, fastest first."""

    task_id = fields.String(required=True)
    data = fields.List(fields.Nested(LeaderSchema), required=True)
