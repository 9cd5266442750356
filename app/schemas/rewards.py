"""Rewards under a chosen setting, on the wire."""

from marshmallow import Schema, fields, validate

from app.schemas.fields import QueryFlag
from evaluator.reward import REWARD_MODES


class RewardQuery(Schema):
    """The setting; what is left out is as the submission was graded."""

    mode = fields.String(validate=validate.OneOf(REWARD_MODES))
    partial_credit = QueryFlag()


class RewardSchema(Schema):
    """A reward and the setting that it was computed under."""

    submission_id = fields.String(required=True)
    mode = fields.String(required=True, validate=validate.OneOf(REWARD_MODES))
    partial_credit = fields.Boolean(required=True)
    reward = fields.Float(required=True, allow_none=True, metadata={"description": "Null without a verdict."})
