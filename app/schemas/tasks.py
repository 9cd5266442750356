"""Tasks on the wire."""

from marshmallow import Schema, fields, validate

from app.schemas.fields import name
from evaluator.tasks.task import SPLITS

PAGE_MAX = 500


class TaskQuery(Schema):
    """Filters and the page of a listing."""

    level = fields.Integer(validate=validate.Range(min=1, max=99))
    split = fields.String(validate=validate.OneOf(SPLITS))
    cursor = name(512, metadata={"description": "`next_cursor` of the page before."})
    limit = fields.Integer(load_default=100, validate=validate.Range(min=1, max=PAGE_MAX))


class TaskSchema(Schema):
    """One task of the catalogue."""

    id = fields.String(required=True, metadata={"example": "level1/19_ReLU"})
    level = fields.Integer(required=True)
    number = fields.Integer(required=True)
    name = fields.String(required=True)
    split = fields.String(required=True, validate=validate.OneOf(SPLITS))
    family = fields.String(required=True, metadata={"description": "Operators of one kind share it."})
    supported = fields.Boolean(required=True, metadata={"description": "Whether submissions are taken for it."})


class TaskDetailSchema(TaskSchema):
    """A task with what a submission is held against."""

    source = fields.String(required=True, metadata={"description": "The reference, as in the task's file."})
    problems = fields.List(fields.String(), required=True, metadata={"description": "Why it is not served."})
    special_inputs = fields.List(
        fields.String(), required=True, metadata={"description": "Inputs that correctness is checked on as well."}
    )
    audit = fields.Dict(
        required=True, allow_none=True, metadata={"description": "What an audit found; null before there was one."}
    )


class TaskPageSchema(Schema):
    """One page of tasks, by level and number."""

    data = fields.List(fields.Nested(TaskSchema), required=True)
    next_cursor = fields.String(required=True, allow_none=True)
