"""Fixtures of the evaluator's tests."""

from collections.abc import Iterator

import pytest

from tests.evaluator.judge_support import WarmJudge


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmJudge]:
    """A judge that every test may use for short grades; starting one takes seconds."""
    made = WarmJudge(tmp_path_factory.mktemp("judge"))
    yield made
    made.close()
