"""Tasks of chosen sizes for benchmarks, written as task files into a folder of their own."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.support import KERNELS

ELEMENTWISE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {call}


def get_inputs():
    return [torch.rand({rows}, {columns}) * 2 - 1]


def get_init_inputs():
    return []
"""

MATMUL = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand({rows}, {columns}), torch.rand({columns}, {rows})]


def get_init_inputs():
    return []
"""

CALLS = {"relu": "torch.relu(x)", "softmax": "torch.softmax(x, dim=1)"}


@dataclass(frozen=True)
class SizedTask:
    """One operator (`relu`, `softmax`, `matmul`) on float32 matrices of (rows, columns)."""

    number: int
    operator: str
    rows: int
    columns: int

    @property
    def task_id(self) -> str:
        return f"level1/{self.number}_{self.operator}_{self.rows}x{self.columns}"

    @property
    def source(self) -> str:
        template = MATMUL if self.operator == "matmul" else ELEMENTWISE
        return template.format(call=CALLS.get(self.operator), rows=self.rows, columns=self.columns)

    @property
    def kernel(self) -> str:
        """A Triton source with `ModelNew` for it, the same kernel each time that it is graded."""
        return untuned((KERNELS / "triton" / f"{self.operator}.py").read_text())


def untuned(source: str) -> str:
    """The source with the first configuration alone: a tuner may choose another one from one grading to the next."""
    lines = source.splitlines(keepends=True)
    choices = [line for line in lines if "triton.Config(" in line]
    return "".join(line for line in lines if line not in choices[1:])


# An H200 takes about 5 us for the first two and more than 100 us for the others.
ON_GPU = (
    SizedTask(901, "relu", 16, 1024),
    SizedTask(902, "relu", 256, 1024),
    SizedTask(903, "matmul", 2048, 2048),
    SizedTask(904, "matmul", 4096, 4096),
    SizedTask(905, "softmax", 4096, 16384),
    SizedTask(906, "relu", 4096, 98304),
)
# Small enough for Triton's interpreter; a softmax over more columns would be zero within the tolerance.
ON_CPU = (SizedTask(901, "relu", 16, 1024), SizedTask(903, "matmul", 128, 128), SizedTask(905, "softmax", 512, 16))


def write_tasks(folder: Path, tasks: tuple[SizedTask, ...]) -> None:
    """Write the task files under `folder`, as a catalogue expects them."""
    for task in tasks:
        path = folder / f"{task.task_id}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(task.source)
