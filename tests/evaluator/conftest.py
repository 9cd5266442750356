"""Fixtures of the evaluator's tests."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.evaluator.judge_support import WarmJudge

# on a busy machine any example may take long, which says nothing of the code
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """On a busy machine two threads spend most of their time waiting for each other."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmJudge]:
    """A judge that every test may use for short grades; starting one takes seconds."""
    made = WarmJudge(tmp_path_factory.mktemp("judge"))
    yield made
    made.close()
