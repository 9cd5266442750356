"""Takes the items of a batch apart, each by itself: what is wrong with one is told about that one alone."""

import json
import re
from typing import Any

import marshmallow as ma

from app.context import Context
from app.error_codes import ErrorCode
from app.parsing import DETAIL, field_errors
from app.problems import FieldError, Problem
from app.schemas.batches import BatchItem as ItemSchema
from app.services.submissions import new_submission
from grading.jobs import BatchItem

ITEM_BYTES_MAX = 1024 * 1024
# a pointer may quote the name of a label, and what is told about an item is kept in the database
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def parse_items(ctx: Context, args: dict[str, Any]) -> tuple[list[BatchItem], dict[int, dict[str, Any]]]:
    """(items that may be tried, what is told about the others by their place); pointers are into the whole body."""
    items: list[BatchItem] = []
    refused: dict[int, dict[str, Any]] = {}
    seen: set[str] = set()
    for index, raw in enumerate(args["items"]):
        custom_id = _usable(raw.get("custom_id"))
        try:
            item = _parse(ctx, index, {**_defaults(args), **raw})
            if item.custom_id in seen:
                raise _duplicate(index)
        except Problem as problem:
            refused[index] = {"custom_id": custom_id, "problem": problem.body()}
            continue
        seen.add(item.custom_id)
        items.append(item)
    return items, refused


def _defaults(args: dict[str, Any]) -> dict[str, Any]:
    return {name: args[name] for name in ("run_id",) if name in args}


def _parse(ctx: Context, index: int, raw: dict[str, Any]) -> BatchItem:
    path = f"#/items/{index}"
    try:
        if len(json.dumps(raw)) > ITEM_BYTES_MAX:
            raise Problem(ErrorCode.BODY_TOO_LARGE, f"The item is larger than {ITEM_BYTES_MAX} bytes.")
        fields = ItemSchema().load(raw)
        new = new_submission(ctx, fields)
    except ma.ValidationError as error:
        messages = error.messages if isinstance(error.messages, dict) else {"": error.messages}
        raise Problem(ErrorCode.INVALID, DETAIL, errors=_inside(path, field_errors({"json": messages}))) from None
    except Problem as problem:
        problem.errors = _inside(path, problem.errors)
        raise
    return BatchItem(index, fields["custom_id"], new)


def _inside(path: str, errors: Any) -> list[FieldError]:
    return [
        FieldError(UNSTORABLE.sub(REPLACEMENT, path + error.pointer.removeprefix("#")), error.detail)
        for error in errors
    ]


def _duplicate(index: int) -> Problem:
    kind = ErrorCode.DUPLICATE_CUSTOM_ID
    return Problem(kind, f"{kind.title}.", errors=[FieldError(f"#/items/{index}/custom_id", f"{kind.title}.")])


def _usable(custom_id: Any) -> str | None:
    """What the client called the item, if it can be stored and sent back."""
    try:
        return str(ItemSchema().fields["custom_id"].deserialize(custom_id))
    except ma.ValidationError:
        return None
