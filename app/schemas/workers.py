"""Slots and their devices, on the wire."""

from marshmallow import Schema, fields, validate

from grading.states import SlotRole, SlotState


class WorkerSchema(Schema):
    """One slot: a GPU, or what stands in for one, or a builder, and the worker that serves it."""

    id = fields.String(required=True)
    role = fields.String(
        required=True,
        validate=validate.OneOf([str(role) for role in SlotRole]),
        metadata={"description": "Builders compile CUDA sources before a GPU is taken."},
    )
    kind = fields.String(required=True, metadata={"description": "What `gpu` of a submission asks for."})
    evaluator = fields.String(required=True)
    host = fields.String(required=True)
    number = fields.Integer(required=True, metadata={"description": "The device, as its driver counts."})
    queue = fields.String(required=True)
    state = fields.String(required=True, validate=validate.OneOf([str(state) for state in SlotState]))
    reason = fields.String(required=True, allow_none=True)
    state_since = fields.String(required=True, metadata={"format": "date-time"})
    alive = fields.Boolean(required=True, metadata={"description": "Its worker was heard of within its lease."})
    held = fields.Boolean(required=True, metadata={"description": "An operator keeps it from taking work."})
    lanes = fields.Integer(required=True)
    running = fields.Integer(required=True)
    waiting = fields.Integer(required=True)
    faults = fields.Integer(required=True)
    last_fault = fields.String(required=True, allow_none=True)
    last_fault_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})
    canary = fields.Dict(
        required=True,
        allow_none=True,
        metadata={"description": "The last probe, and the canary's last look: drift, noise, clocks, and its day."},
    )
    canary_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})
    isolation = fields.Dict(required=True, allow_none=True, metadata={"description": "The walls around candidates."})
    environment = fields.Dict(required=True, metadata={"description": "Device and versions."})


class WorkersSchema(Schema):
    """All slots that were ever registered, by id."""

    data = fields.List(fields.Nested(WorkerSchema), required=True)
