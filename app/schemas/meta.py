"""The server's description of itself, on the wire."""

from marshmallow import Schema, fields


class ClocksSchema(Schema):
    """What a client sets its own time-outs by, in seconds."""

    deadline_s = fields.Float(required=True)
    run_limit_s = fields.Float(required=True)
    wait_max_s = fields.Float(required=True)


class MetaSchema(Schema):
    """Limits, versions, choices and clocks."""

    version = fields.String(required=True)
    api_version = fields.String(required=True)
    evaluator = fields.String(required=True)
    languages = fields.List(fields.String(), required=True)
    reward_modes = fields.List(fields.String(), required=True)
    reward_mode = fields.String(required=True, metadata={"description": "Where a request names none."})
    partial_credit = fields.Boolean(required=True)
    max_turns = fields.Integer(required=True)
    precision_policy = fields.String(required=True)
    verdicts = fields.List(fields.String(), required=True)
    tasks = fields.Integer(required=True)
    limits = fields.Dict(required=True, metadata={"description": "The evaluator's limits; names carry their unit."})
    clocks = fields.Nested(ClocksSchema, required=True)
