"""Where things are: paths, names in them, and the pages of lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from kernel_grader_client.models import EpisodeState, Submission
from kernel_grader_client.protocol import Protocol
from kernel_grader_client.steps import Steps

Page = tuple[list[dict[str, Any]], "str | None"]


def named(thing: Submission | EpisodeState | str) -> str:
    """Its id, as it stands in a path."""
    return quote(thing if isinstance(thing, str) else thing.id, safe="")


def task_path(task_id: str) -> str:
    return f"/tasks/{quote(task_id)}"


def run_path(run_id: str) -> str:
    return f"/runs/{quote(run_id, safe='')}"


def page(protocol: Protocol, path: str, filters: Mapping[str, Any], cursor: str | None) -> Steps[Page]:
    """One page of a list, and the cursor of the next."""
    body = yield from protocol.get(path, {**filters, "cursor": cursor})
    return body["data"], body["next_cursor"]
