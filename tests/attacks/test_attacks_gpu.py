"""The attacks that a GPU can be asked about, on a GPU."""

import shutil
from collections.abc import Iterator

import pytest

from tests.attacks.bench import Grader, grader
from tests.attacks.corpus import GPU, Attack
from tests.attacks.gpu_run import run

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a CUDA device"),
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Grader]:
    with grader("gpu") as made:
        yield made


@pytest.mark.parametrize("attack", GPU, ids=lambda attack: attack.name)
def test_attack_is_not_paid_and_the_next_one_is(attack: Attack, judge: Grader) -> None:
    outcome = run(judge, attack)
    assert outcome["wrong"] == [], outcome
