"""The text of a task for one device."""

from pathlib import Path

import pytest

from evaluator.tasks import Catalogue, Task, source_for

OWN = Path(__file__).parents[2] / "kernelbench_tasks"
TAIL = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"


def load(tmp_path: Path, raw: bytes) -> Task:
    path = tmp_path / "level1" / "1_T.py"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(raw)
    task = Catalogue(tmp_path).get("level1/1_T")
    assert task.problems == ()
    return task


@pytest.mark.parametrize(
    "raw",
    [
        f"n = 3\n{TAIL}".encode(),
        f"n = 3\r\n{TAIL}".replace("\n", "\r\n").encode(),
        f"# \x0c form feed, \u2028 separator, é\nn = 3\n{TAIL}"[:-1].encode(),
    ],
)
def test_plain_files_come_out_byte_for_byte(tmp_path: Path, raw: bytes) -> None:
    task = load(tmp_path, raw)
    assert source_for(task, "cpu").encode() == raw
    assert source_for(task, "cuda").encode() == raw


def test_values_are_replaced_where_they_stand(tmp_path: Path) -> None:
    source = (
        "size: int = 4096  # big\n"
        "shape = (\n    1,  # é before it\n    2,\n)\n"
        "name = 'é'; depth = 7\n"
        f"{TAIL}"
        "def f():\n    size = 1\n\n\n"
        'CPU_SIZES = {"size": 16, "shape": (3, 4), "depth": 2}\n'
    )
    assert source_for(load(tmp_path, source.encode()), "cpu") == (
        f"size: int = 16  # big\nshape = (3, 4)\nname = 'é'; depth = 2\n{TAIL}def f():\n    size = 1\n"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_sizes_statement_leaves_no_trace(tmp_path: Path, newline: str) -> None:
    source = f"n = 9\n{TAIL}\n\nCPU_SIZES = {{\n    'n': 1,\n}}  # small\n".replace("\n", newline)
    task = load(tmp_path, source.encode())
    assert source_for(task, "cuda").rstrip() == f"n = 9\n{TAIL}".replace("\n", newline).rstrip()
    assert source_for(task, "cpu").startswith(f"n = 1{newline}")


def test_sizes_in_the_middle_of_a_file(tmp_path: Path) -> None:
    task = load(tmp_path, f"n = 9\nCPU_SIZES = {{'n': 1}}\n{TAIL}".encode())
    assert source_for(task, "cuda") == f"n = 9\n{TAIL}"


def test_own_tasks_differ_between_devices_in_their_sizes_only() -> None:
    for task in Catalogue(OWN):
        small, full = (source_for(task, device).splitlines() for device in ("cpu", "cuda"))
        assert len(small) == len(full), task.task_id
        changed = {line.partition(" =")[0] for line, other in zip(small, full, strict=True) if line != other}
        assert changed == {name for name, value in task.cpu_sizes.items() if f"{name} = {value!r}" not in full}
        assert changed, task.task_id
