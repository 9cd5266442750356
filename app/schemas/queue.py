"""The queue on the wire."""

from marshmallow import Schema, fields

from app.schemas.submissions import PRIORITIES


class QueueRowSchema(Schema):
    """What waits at one slot's queue; `queue` is null for what no slot was rung for yet."""

    queue = fields.String(required=True, allow_none=True)
    waiting = fields.Integer(required=True)
    running = fields.Integer(required=True)
    oldest_age_s = fields.Float(required=True, allow_none=True)


PriorityCountsSchema = Schema.from_dict(
    {priority: fields.Integer(required=True) for priority in PRIORITIES}, name="PriorityCountsSchema"
)


class QueueStateSchema(Schema):
    """Depth and age of the whole queue, over all projects."""

    waiting = fields.Integer(required=True)
    running = fields.Integer(required=True)
    oldest_age_s = fields.Float(required=True, allow_none=True)
    by_priority = fields.Nested(PriorityCountsSchema, required=True)
    slots = fields.Integer(required=True, metadata={"description": "Slots that take work at the moment."})
    eval_mean_s = fields.Float(required=True, allow_none=True, metadata={"description": "Of the last few grades."})
    eta_s = fields.Float(
        required=True,
        allow_none=True,
        metadata={"description": "About how long a submission of normal priority would wait; null where unknown."},
    )
    queues = fields.List(fields.Nested(QueueRowSchema), required=True)
