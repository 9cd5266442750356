"""Batches on the wire."""

from typing import Any

from marshmallow import Schema, fields, validate

from app.schemas.common import ProblemSchema, WaitQuery
from app.schemas.fields import Pattern, Text, name, run_id
from app.schemas.submissions import EXAMPLE as SUBMISSION_EXAMPLE
from app.schemas.submissions import STATUSES, SubmissionCreate, SubmissionSchema

ITEMS_MAX = 256
BODY_BYTES_MAX = 32 * 1024 * 1024
UNTIL = ("all", "any")
EXAMPLE = {"run_id": "grpo-7", "items": [{"custom_id": "prompt-3/sample-1", **SUBMISSION_EXAMPLE}]}


class BatchItem(SubmissionCreate):
    """One submission of a batch."""

    custom_id = name(required=True, metadata={"description": "Your name for it; no other item has the same."})


class BatchCreate(Schema):
    """Up to 256 submissions. An item that is not valid is refused by itself, with a problem of its own."""

    items = fields.List(
        fields.Dict(keys=Text()),
        required=True,
        validate=validate.Length(min=1, max=ITEMS_MAX),
    )
    run_id = run_id(metadata={"description": "For the items that name none."})


class BatchWaitQuery(WaitQuery):
    """What is waited for."""

    until = fields.String(
        load_default="all",
        validate=validate.OneOf(UNTIL),
        metadata={"description": "`all`: every item has ended. `any`: one has that the cursor has not passed."},
    )


class BatchQuery(BatchWaitQuery):
    """Where in the order of endings to go on."""

    cursor = fields.String(
        validate=Pattern(r"^[0-9]{1,9}$", error="Not a cursor of a batch."),
        metadata={"description": "`next_cursor` of the answer before: what it held is left out."},
    )


# how many items are in which state; refused ones were never taken in
BatchCountsSchema = Schema.from_dict(
    {state: fields.Integer(required=True) for state in ("refused", *STATUSES)}, name="BatchCountsSchema"
)


class BatchPlaceSchema(Schema):
    """What became of one item when the batch came in."""

    index = fields.Integer(required=True, metadata={"description": "Its place in the request, from 0."})
    custom_id = fields.String(required=True, allow_none=True)
    submission_id = fields.String(required=True, allow_none=True, metadata={"description": "Null: it was refused."})
    problem = fields.Nested(ProblemSchema, required=True, allow_none=True)


class BatchEndingSchema(Schema):
    """One item that has ended: graded, given up, cancelled, or refused."""

    ending = fields.Integer(required=True, metadata={"description": "Counts the endings of the batch, from 1."})
    index = fields.Integer(required=True)
    custom_id = fields.String(required=True, allow_none=True)
    submission = fields.Nested(SubmissionSchema, required=True, allow_none=True)
    problem = fields.Nested(ProblemSchema, required=True, allow_none=True)


class BatchSchema(Schema):
    """A batch, and its endings after the cursor, in the order in which they came."""

    id = fields.String(required=True)
    status = fields.String(
        required=True,
        validate=validate.OneOf(("active", "finished")),
        metadata={"description": "`finished` when every item has ended."},
    )
    size = fields.Integer(required=True)
    ended = fields.Integer(required=True)
    counts = fields.Nested(BatchCountsSchema, required=True)
    run_id = fields.String(required=True, allow_none=True)
    created_at = fields.String(required=True, metadata={"format": "date-time"})
    data = fields.List(fields.Nested(BatchEndingSchema), required=True)
    next_cursor = fields.String(
        required=True, allow_none=True, metadata={"description": "Null once every ending has been read."}
    )


class BatchCreatedSchema(BatchSchema):
    """A batch as it was taken in."""

    items = fields.List(fields.Nested(BatchPlaceSchema), required=True)


# an item may be anything at all: what is wrong with it is said about it alone
LENIENT_ITEMS: dict[str, Any] = {
    "anyOf": [{"$ref": "#/components/schemas/BatchItem"}, {"type": "object"}],
}
