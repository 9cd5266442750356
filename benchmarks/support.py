"""What every benchmark here needs: a warm judge, the fixed mix of kernels, and a record with machine and versions."""

import argparse
import datetime
import json
import os
import platform
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.submission import Language, Submission

KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Case:
    """One kernel of a mix, by task and source file."""

    task_id: str
    language: Language
    file: str

    @property
    def code(self) -> str:
        return (KERNELS / self.file).read_text()

    def submission(self) -> Submission:
        return Submission("bench", self.task_id, self.code, self.language, secrets.token_hex(32))


MIX = (
    Case("level1/19_ReLU", "triton", "triton/relu.py"),
    Case("level1/23_Softmax", "triton", "triton/softmax.py"),
    Case("level1/1_Square_matrix_multiplication_", "triton", "triton/matmul.py"),
    Case("level1/40_LayerNorm", "triton", "triton/layernorm.py"),
    Case("level2/76_Gemm_Add_ReLU", "triton", "triton/gemm_add_relu.py"),
)


def parser(description: str | None) -> argparse.ArgumentParser:
    """Options that all benchmarks share."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--evaluator", choices=["gpu", "cpu"], default="gpu")
    made.add_argument("--tasks-dir", default=os.environ.get("KERNELBENCH_DIR", "kernelbench_tasks"))
    made.add_argument("--lanes", type=int, default=2)
    made.add_argument("--gpu", type=int, default=0)
    made.add_argument("--record", type=Path, help="write everything measured to this JSON file")
    return made


@contextmanager
def warm_judge(options: argparse.Namespace, **config: Any) -> Iterator[tuple[JudgeProcess, EvaluatorConfig]]:
    """A judge that has answered once, so that its own start is in no figure."""
    with tempfile.TemporaryDirectory(prefix="bench-") as state_dir:
        settings = EvaluatorConfig(
            kind=options.evaluator,
            tasks_dir=options.tasks_dir,
            state_dir=state_dir,
            gpu_index=options.gpu,
            lanes=options.lanes,
            **config,
        )
        judge = JudgeProcess(settings)
        judge.start()
        try:
            JudgeClient(judge.socket_path, settings).describe()
            yield judge, settings
        finally:
            judge.close()


def machine(judge: JudgeProcess, settings: EvaluatorConfig) -> dict[str, Any]:
    """Date, machine and versions, for the record."""
    described = JudgeClient(judge.socket_path, settings).describe()
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        **described,
    }


def write_record(path: Path | None, record: dict[str, Any]) -> None:
    """Keep a record where one was asked for."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")
