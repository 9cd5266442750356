"""However a client stops waiting, no source is paired with another's reward, and no grade is lost."""

import pytest

from grading.jobs.sources import code_sha as sha_of
from tests.openenv.conftest import Play
from tests.services.installation import source

# the first test of a session may have to install a release
pytestmark = pytest.mark.timeout(1800)
SLOW = source("correct speedup=8.0 eval_s=6", "slow")
OTHER = source("correct speedup=2.0", "other")


# whether the client comes back before the answer that it gave up on is there, or after
@pytest.mark.parametrize("graded", [False, True])
def test_another_source_after_a_timeout_gets_its_own_reward(client: Play, front: str, graded: bool) -> None:
    found = client("after_timeout", front, first=SLOW, second=OTHER, timeout_s=1.5, graded=graded)
    assert found["told"]["code_sha"] == sha_of(OTHER)
    assert (found["told"]["reward"], found["told"]["graded_turn"]) == (pytest.approx(1.3), 2)
    assert [turn["reward"] for turn in found["state"]["history"]] == pytest.approx([3.3, 1.3])


@pytest.mark.parametrize("graded", [False, True])
def test_the_same_source_after_a_timeout_is_graded_once(client: Play, front: str, graded: bool) -> None:
    found = client("after_timeout", front, first=SLOW, second=SLOW, timeout_s=1.5, graded=graded)
    assert found["told"]["code_sha"] == sha_of(SLOW)
    assert (found["told"]["reward"], found["told"]["graded_turn"]) == (pytest.approx(3.3), 1)
    assert len(found["state"]["history"]) == 1


def test_a_client_that_told_its_patience_never_times_out(client: Play, front: str) -> None:
    early, busy, first, second, state = client("declared", front, first=SLOW, second=OTHER)
    assert (early["outcome"], early["reward"], early["done"]) == ("running", None, False)
    assert (busy["outcome"], busy["reward"], busy["code_sha"]) == ("busy", None, sha_of(OTHER))
    assert (first["reward"], first["graded_turn"]) == (pytest.approx(3.3), 1)
    assert (second["reward"], second["graded_turn"]) == (pytest.approx(1.3), 2)
    assert len(state["history"]) == 2


def test_the_typed_client_refuses_an_answer_to_an_earlier_step(client: Play, front: str) -> None:
    told = client("stale", front, first=source("incorrect"), second=OTHER)
    assert f"{sha_of(source('incorrect'))} came where {sha_of(OTHER)} was sent" in told


def test_a_lost_connection_loses_no_grade(client: Play, front: str) -> None:
    told, state = client("lost", front, code=SLOW)
    assert (told["reward"], told["graded_turn"]) == (pytest.approx(3.3), 1)
    assert len(state["history"]) == 1
