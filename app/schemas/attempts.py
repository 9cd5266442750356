"""Attempts at grading a submission, on the wire."""

from marshmallow import Schema, fields, validate

from grading.states import AttemptEnd

ENDS = tuple(str(end) for end in AttemptEnd)


class AttemptSchema(Schema):
    """One claim of a submission by a slot, and how it ended."""

    number = fields.Integer(required=True)
    kind = fields.String(required=True)
    slot_id = fields.String(required=True)
    outcome = fields.String(
        required=True,
        allow_none=True,
        validate=validate.OneOf([*ENDS, None]),
        metadata={"description": "Null while it lasts."},
    )
    code = fields.String(required=True, allow_none=True, metadata={"description": "Why, where it got no verdict."})
    detail = fields.String(required=True, allow_none=True)
    started_at = fields.String(required=True, metadata={"format": "date-time"})
    ended_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})


class AttemptsSchema(Schema):
    """Every attempt, first one first."""

    data = fields.List(fields.Nested(AttemptSchema), required=True)
