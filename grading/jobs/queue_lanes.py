"""The lane of a waiting row: rows of one lane compete as one, may run in the same places, and are served by age."""

import json

# how the lane of a row begins that is to be built first, and that of one that was
TO_BUILD = "[1,"
BUILT = "[2,"


def lane(priority: int, gpu_kind: str | None, project_id: str, run_id: str | None, *, builds: bool) -> str:
    """The lane of a row that comes in."""
    return json.dumps([int(builds), priority, gpu_kind, project_id, run_id], ensure_ascii=False)


def built(name: str) -> str:
    """Where a row goes on after its build: graders need not look through what is still to be built."""
    return BUILT + name.removeprefix(TO_BUILD) if name.startswith(TO_BUILD) else name


def unbuilt(name: str) -> str:
    """Where a copy of a row begins."""
    return TO_BUILD + name.removeprefix(BUILT) if name.startswith(BUILT) else name
