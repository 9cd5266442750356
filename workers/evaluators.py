"""Which evaluator a worker uses: the judge of this slot's main process, a builder, or the mock of either."""

import contextlib
from typing import Any, Protocol

from evaluator.builder import Builder, BuildProcess
from evaluator.client import Evaluator, JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.mock import MockEvaluator
from evaluator.mock_builder import MockBuilder
from grading.states import SlotRole


class ClosableEvaluator(Evaluator, Protocol):
    """An evaluator for one grade or question; closing it gives its descriptors back."""

    def describe(self) -> dict[str, Any]: ...

    def probe(self) -> dict[str, Any]: ...

    def canary(self) -> dict[str, Any] | None: ...

    def close(self) -> None: ...


def connect(config: EvaluatorConfig) -> ClosableEvaluator:
    """An evaluator for one grade: a pool child reaches the judge by the path of its socket."""
    if config.kind == "mock":
        return MockEvaluator(config)
    return JudgeClient(JudgeProcess(config).socket_path, config)


def judge(config: EvaluatorConfig) -> JudgeProcess | None:
    """The judge of this slot, to be started from the main thread; the mock needs none."""
    return None if config.kind == "mock" else JudgeProcess(config)


def connect_builder(config: EvaluatorConfig) -> Builder:
    """A builder for one build or question."""
    return MockBuilder(config) if config.kind == "mock" else BuildProcess(config)


def describe(config: EvaluatorConfig, role: SlotRole) -> dict[str, Any]:
    """Device, tools and versions; of a judge once it is warm. Raises GraderFault."""
    with contextlib.closing(_whose(config, role)) as asked:
        return asked.describe()


def probe(config: EvaluatorConfig, role: SlotRole) -> dict[str, Any]:
    """What a look at the device, or at the compilers, found. Raises GraderFault where it is not well."""
    with contextlib.closing(_whose(config, role)) as asked:
        return asked.probe()


def canary(config: EvaluatorConfig) -> dict[str, Any] | None:
    """What the canary found on the device; None where it was busy for too long. Raises GraderFault where it failed."""
    with contextlib.closing(connect(config)) as asked:
        return asked.canary()


def _whose(config: EvaluatorConfig, role: SlotRole) -> Builder | ClosableEvaluator:
    return connect_builder(config) if role is SlotRole.BUILDER else connect(config)
