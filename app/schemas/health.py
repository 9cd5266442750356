"""Health on the wire."""

from marshmallow import Schema, fields, validate


class HealthSchema(Schema):
    """The process answers."""

    status = fields.String(required=True, validate=validate.OneOf(("ok",)))
    version = fields.String(required=True)


class ReadySchema(Schema):
    """`degraded`: submissions are accepted and will be graded later."""

    status = fields.String(required=True, validate=validate.OneOf(("ok", "degraded")))
    database = fields.Boolean(required=True)
    broker = fields.Boolean(required=True)
    workers = fields.Integer(required=True, metadata={"description": "Slots that take work at the moment."})
