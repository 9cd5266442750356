"""Small tasks for tests of the audit, made from one body each."""

from pathlib import Path

from evaluator.tasks import Catalogue, Task

TEMPLATE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.idle = nn.Parameter(torch.ones(3))

    def forward(self, {arguments}):
        return {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def task(folder: Path, body: str, inputs: str = "torch.rand(64, 256)", arguments: str = "x", number: int = 901) -> Task:
    """A task that the catalogue has read; its name is nobody's."""
    path = folder / "level1" / f"{number}_Subject.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEMPLATE.format(body=body, inputs=inputs, arguments=arguments))
    return Catalogue(folder).get(f"level1/{number}_Subject")
