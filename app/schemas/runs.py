"""Runs on the wire: what all episodes and submissions with one `run_id` add up to."""

from marshmallow import Schema, fields

SHARE = {"minimum": 0, "maximum": 1}


class RunRatesSchema(Schema):
    """Shares from 0 to 1; null where there is nothing to share."""

    graded_frac = fields.Float(
        required=True, allow_none=True, metadata={"description": "Of what has ended: with a verdict.", **SHARE}
    )
    correct_frac = fields.Float(
        required=True, allow_none=True, metadata={"description": "Of the verdicts: correct.", **SHARE}
    )
    fast_1_frac = fields.Float(
        required=True, allow_none=True, metadata={"description": "Of the verdicts: faster than the reference.", **SHARE}
    )
    fast_2_frac = fields.Float(
        required=True, allow_none=True, metadata={"description": "Of the verdicts: twice as fast or more.", **SHARE}
    )


class RunSchema(Schema):
    """Counts, verdict mix and rates of a run; regrades are left out of all of them."""

    run_id = fields.String(required=True)
    episodes = fields.Dict(
        keys=fields.String(), values=fields.Integer(), required=True, metadata={"description": "By status."}
    )
    submissions = fields.Dict(
        keys=fields.String(), values=fields.Integer(), required=True, metadata={"description": "By status."}
    )
    verdicts = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)
    rates = fields.Nested(RunRatesSchema, required=True)
    deduped = fields.Integer(required=True)
    regrades = fields.Integer(required=True)
    reward_mean = fields.Float(required=True, allow_none=True, metadata={"description": "Over the verdicts."})
    speedup_best = fields.Float(required=True, allow_none=True)
    queue_wait_mean_s = fields.Float(required=True, allow_none=True)
    eval_mean_s = fields.Float(required=True, allow_none=True)
    first_at = fields.String(required=True, metadata={"format": "date-time"})
    last_at = fields.String(required=True, metadata={"format": "date-time"})


class RunCancelledSchema(Schema):
    """What a cancellation has ended."""

    run_id = fields.String(required=True)
    cancelled = fields.Integer(required=True, metadata={"description": "Submissions that this ended."})
