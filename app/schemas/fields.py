"""Field types that leave no room for surprises: what JSON allows and a database or a header does not."""

import re
from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

LABELS_MAX = 32
LABEL_NAME_MAX = 64
NO_NUL = r"^[^\u0000]*$"
RUN_ID = r"^(?!\.{1,2}$)[^/\u0000-\u001f\u007f]{1,128}$"
JSON_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Pattern(validate.Regexp):
    """A pattern for the whole text: to Python, `$` also stands before a last line break."""

    def __call__(self, value: Any) -> Any:
        if self.regex.fullmatch(value) is None:
            raise ma.ValidationError(self._format_error(value))
        return value


class Text(fields.String):
    """A string that every database and encoding can hold: no NUL and no lone surrogate."""

    def __init__(self, **kwargs: Any) -> None:
        if not isinstance(kwargs.get("validate"), Pattern):
            kwargs["metadata"] = {"pattern": NO_NUL} | kwargs.get("metadata", {})
        super().__init__(**kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if "\x00" in text:
            raise ma.ValidationError("Must not contain NUL characters.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ma.ValidationError("Must be valid Unicode, without lone surrogates.")
        return text


class Whole(fields.Integer):
    """An integer of JSON, to which 3.0 is one; no boolean, no digits in a string."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Number(fields.Float):
    """A number of JSON: no boolean and no digits in a string."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class QueryNumber(fields.Float):
    """A number in a query, spelled as in JSON."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or JSON_NUMBER.fullmatch(value) is None:
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class QueryWhole(fields.Integer):
    """A whole number in a query: digits alone."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if not isinstance(value, str) or not value.isascii() or not value.removeprefix("-").isdigit():
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value[:20], attr, data, **kwargs)


class QueryFlag(fields.Boolean):
    """`true` or `false` in a query."""

    truthy: set[Any] = {"true"}  # noqa: RUF012 - marshmallow's own way to say it
    falsy: set[Any] = {"false"}  # noqa: RUF012


class Labels(fields.Dict):
    """Free key-value text that a client hangs on its objects."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs["metadata"] = {"maxProperties": LABELS_MAX} | kwargs.get("metadata", {})
        super().__init__(
            keys=Text(validate=validate.Length(min=1, max=LABEL_NAME_MAX)),
            values=Text(validate=validate.Length(max=256)),
            validate=validate.Length(max=LABELS_MAX),
            **kwargs,
        )

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        try:
            return super()._deserialize(value, attr, data, **kwargs)  # type: ignore[no-untyped-call]
        except ma.ValidationError as error:
            if not isinstance(error.messages, dict):
                raise
            # marshmallow tells a bad key from a bad value by one more level, which a pointer must not show
            flat = {key: [text for texts in parts.values() for text in texts] for key, parts in error.messages.items()}
            raise ma.ValidationError(flat) from None


def run_id(**kwargs: Any) -> Text:
    """The name of a training run: it stands in paths, so it holds no slash and no control character."""
    error = "Must be 1 to 128 characters without slashes and control characters."
    return Text(validate=Pattern(RUN_ID, error=error), **kwargs)


def name(length_max: int = 128, **kwargs: Any) -> Text:
    """A short identifier that a client chooses, such as a run's."""
    return Text(validate=validate.Length(min=1, max=length_max), **kwargs)
