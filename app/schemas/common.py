"""Pieces that several resources share: waiting, headers, pages, problems."""

from marshmallow import Schema, fields, validate

from app.schemas.fields import Pattern, QueryNumber, QueryWhole, Text

PAGE_MAX = 200
PAGE = 50


class WaitQuery(Schema):
    """`?wait=` of long polls."""

    wait = QueryNumber(
        validate=validate.Range(min=0),
        metadata={
            "description": "Seconds to wait for the end, clamped to the cap that /meta names (60). "
            "`Prefer: wait=` does the same. Running out of time is no error.",
        },
    )


class WaitHeaders(Schema):
    """`Prefer: wait=` of long polls."""

    prefer = fields.String(
        data_key="Prefer",
        metadata={
            "description": "`wait=S`, as RFC 7240 has it; answered with `Preference-Applied`. What it does not "
            "understand the server ignores.",
            "example": "wait=30",
        },
    )


class PageQuery(Schema):
    """A page of a list, newest first."""

    cursor = fields.String(
        validate=Pattern(r"^[a-z]{2,3}_[0-9A-HJKMNP-TV-Z]{26}$", error="Not a cursor of this list."),
        metadata={"description": "`next_cursor` of the page before."},
    )
    limit = QueryWhole(load_default=PAGE, validate=validate.Range(min=1, max=PAGE_MAX))


class CreateHeaders(Schema):
    """Headers of every request that creates an object."""

    idempotency_key = Text(
        data_key="Idempotency-Key",
        validate=Pattern(r"^[\x21-\x7e]{1,255}$", error="Must be 1 to 255 printable ASCII characters."),
        metadata={
            "description": "Makes a repetition safe: for 24 hours the same key answers with the object that it made, "
            "marked by `Idempotency-Replayed: true`. Another body under the same key is refused.",
        },
    )


class FieldErrorSchema(Schema):
    """One field that is not valid."""

    pointer = fields.String(
        required=True,
        metadata={"description": "`#/code` points into the body, `?wait` names a query parameter."},
    )
    detail = fields.String(required=True)


class ProblemSchema(Schema):
    """RFC 9457 problem details."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    code = fields.String(required=True, metadata={"description": "A stable name for programs."})
    retryable = fields.Boolean(required=True, metadata={"description": "The same request may succeed later."})
    errors = fields.List(fields.Nested(FieldErrorSchema), required=True)
