"""Field types that leave no room for surprises: what JSON allows and a database or a header does not."""

from typing import Any

import marshmallow as ma
from marshmallow import fields, validate

LABELS_MAX = 32


class Text(fields.String):
    """A string that every database and encoding can hold: no NUL and no lone surrogate."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if "\x00" in text:
            raise ma.ValidationError("Must not contain NUL characters.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ma.ValidationError("Must be valid Unicode, without lone surrogates.")
        return text


class Whole(fields.Integer):
    """An integer of JSON: no boolean, no float, no digits in a string."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Labels(fields.Dict):
    """Free key-value text that a client hangs on its objects."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            keys=Text(validate=validate.Length(min=1, max=64)),
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


def name(length_max: int = 128, **kwargs: Any) -> Text:
    """A short identifier that a client chooses, such as a run's."""
    return Text(validate=validate.Length(min=1, max=length_max), **kwargs)
