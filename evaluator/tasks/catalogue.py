"""The set of tasks that one folder holds."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluator.tasks.audits.store import AuditStore
from evaluator.tasks.families import family_of
from evaluator.tasks.inspection import Inspection, inspect_source
from evaluator.tasks.sizes import source_for
from evaluator.tasks.splits import split_of
from evaluator.tasks.task import (
    BadTaskId,
    Split,
    Task,
    TaskKey,
    TaskSetError,
    UnknownTask,
    UnsupportedTask,
    parse_task_id,
)

FILE_BYTES_MAX = 1024 * 1024


class Catalogue:
    """All tasks under `tasks_dir`: a folder of `level*` folders, or a KernelBench checkout that holds such a folder.
    `added_dir`, if it exists, is another folder of `level*` folders: an installation's own tasks.

    Read once, when made. Raises TaskSetError where there is no task at all, AuditError where a stored audit cannot be
    read. `skipped` maps files that have no task
    id to the reason; tasks that have one but cannot be served are listed, with their `problems`.
    """

    def __init__(self, tasks_dir: str | Path, added_dir: str | Path | None = None) -> None:
        self.root = _level_root(Path(tasks_dir))
        self.skipped: dict[str, str] = {}
        found = {task.task_id: task for task in self._load(self.root)}
        if added_dir is not None and Path(added_dir).is_dir():
            for task in self._load(Path(added_dir).resolve()):
                if found.setdefault(task.task_id, task) is not task:
                    self.skipped[str(task.path)] = f"{self.root} has another {task.task_id}, which is served"
        tasks = sorted(found.values(), key=lambda task: task.key)
        if not tasks:
            raise TaskSetError(f"{self.root} holds no task files such as level1/19_ReLU.py")
        self._tasks = {task.task_id: task for task in tasks}

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def get(self, task_id: str) -> Task:
        """The task, supported or not. Raises BadTaskId for text that is no id and UnknownTask for one not here."""
        parse_task_id(task_id)
        try:
            return self._tasks[task_id]
        except KeyError:
            raise UnknownTask(f"there is no task {task_id}") from None

    def servable(self, task_id: str) -> Task:
        """As `get`, and raises UnsupportedTask with the reason where the task cannot be graded."""
        task = self.get(task_id)
        if task.reasons:
            raise UnsupportedTask(f"{task_id} cannot be served: it {'; it '.join(task.reasons)}")
        return task

    def list(
        self,
        *,
        level: int | None = None,
        split: Split | None = None,
        supported: bool | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Task]:
        """Tasks by level, number and name. `after` is the last id already seen; it need not exist any more.

        Raises BadTaskId for an `after` that is no task id.
        """
        start = parse_task_id(after) if after is not None else None
        found = [
            task
            for task in self
            if (level is None or task.level == level)
            and (split is None or task.split == split)
            and (supported is None or task.supported == supported)
            and (start is None or task.key > start)
        ]
        return found if limit is None else found[:limit]

    def draw(self, split: Split, seed: int) -> Task:
        """One servable task of the split; the same seed draws the same task from the same set.

        Raises TaskSetError where the split is empty.
        """
        tasks = self.list(split=split, supported=True)
        if not tasks:
            raise TaskSetError(f"no task of {self.root} is in the split {split!r}")
        digest = hashlib.sha256(f"{split}:{seed}".encode()).digest()
        return tasks[int.from_bytes(digest[:8], "big") % len(tasks)]

    def _load(self, root: Path) -> Iterator[Task]:
        audits = AuditStore(root)
        for path in sorted(root.glob("level*/*.py")):
            relative = path.relative_to(root)
            if path.name.startswith("_") or not path.is_file():
                continue
            try:
                key = parse_task_id(relative.with_suffix("").as_posix())
            except BadTaskId as error:
                self.skipped[str(relative)] = str(error)
                continue
            yield _audited(_task(key, path), audits)


def _level_root(tasks_dir: Path) -> Path:
    for root in (tasks_dir, tasks_dir / "KernelBench"):
        if any(folder.is_dir() for folder in root.glob("level*")):
            return root.resolve()
    raise TaskSetError(f"{tasks_dir} is neither a folder of level1, level2, … nor a KernelBench checkout")


def _task(key: TaskKey, path: Path) -> Task:
    source, inspection = _read(path)
    family, twins = family_of(key.level, key.name)
    return Task(
        task_id=key.task_id,
        level=key.level,
        number=key.number,
        name=key.name,
        source=source,
        path=path,
        family=family,
        twins=twins,
        split=split_of(key),
        problems=inspection.problems,
        cpu_sizes=inspection.cpu_sizes,
        kind=inspection.kind,
    )


def _audited(task: Task, audits: AuditStore) -> Task:
    if task.problems:
        return task
    digest = hashlib.sha256(source_for(task, "cuda").encode()).hexdigest()
    special, namesake = audits.special(task.task_id, digest), audits.namesake(task.task_id, digest)
    return replace(task, sha256=digest, audit=audits.of(digest), special=special, namesake=namesake)


def _read(path: Path) -> tuple[str, Inspection]:
    try:
        raw = path.read_bytes()
        if len(raw) > FILE_BYTES_MAX:
            return "", Inspection(problems=(f"is larger than {FILE_BYTES_MAX} bytes",))
        source = raw.decode("utf-8-sig")
    except OSError as error:
        return "", Inspection(problems=(f"cannot be read: {error.strerror}",))
    except UnicodeDecodeError:
        return "", Inspection(problems=("is not UTF-8 text",))
    return source, inspect_source(source)
