"""Which evaluator a worker uses: the judge of this slot's main process, or the mock."""

from typing import Any, Protocol

from evaluator.client import Evaluator, JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.mock import MockEvaluator


class ClosableEvaluator(Evaluator, Protocol):
    """An evaluator for one grade or question; closing it gives its descriptors back."""

    def describe(self) -> dict[str, Any]: ...

    def probe(self) -> dict[str, Any]: ...

    def close(self) -> None: ...


def connect(config: EvaluatorConfig) -> ClosableEvaluator:
    """An evaluator for one grade: a pool child reaches the judge by the path of its socket."""
    if config.kind == "mock":
        return MockEvaluator(config)
    return JudgeClient(JudgeProcess(config).socket_path, config)


def judge(config: EvaluatorConfig) -> JudgeProcess | None:
    """The judge of this slot, to be started from the main thread; the mock needs none."""
    return None if config.kind == "mock" else JudgeProcess(config)


def describe(config: EvaluatorConfig) -> dict[str, Any]:
    """Device and versions, once the judge is warm. Raises GraderFault."""
    client = connect(config)
    try:
        return client.describe()
    finally:
        client.close()


def probe(config: EvaluatorConfig) -> dict[str, Any]:
    """What a look at the device found. Raises GraderFault where it is not well."""
    client = connect(config)
    try:
        return client.probe()
    finally:
        client.close()
