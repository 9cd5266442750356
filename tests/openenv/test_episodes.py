"""Released clients of OpenEnv play episodes, and every reward is that of the source that was sent."""

from collections.abc import Callable

import pytest

from grading.jobs.sources import code_sha as sha_of
from tests.openenv.conftest import RELEASES, Play
from tests.services.installation import source

# the first test of a session may have to install a release
pytestmark = pytest.mark.timeout(1800)
SPEEDUPS = [1.0, 2.0, 4.0, 8.0]
REWARDS = [0.3, 1.3, 2.3, 3.3]


def test_eight_episodes_at_once_get_the_right_rewards(client: Play, front: str) -> None:
    episodes = [[source(f"correct speedup={SPEEDUPS[n % 4]} eval_s=0.3", n), source("incorrect", n)] for n in range(8)]
    for number, (begun, first, second, state) in enumerate(client("parallel", front, episodes=episodes)):
        codes = episodes[number]
        assert (begun["outcome"], begun["reward"], begun["turn"]) == ("reset", None, 1)
        assert [first["code_sha"], second["code_sha"]] == [sha_of(code) for code in codes]
        assert first["reward"] == pytest.approx(REWARDS[number % 4])
        assert first["speedup"] == pytest.approx(SPEEDUPS[number % 4])
        assert (second["verdict"], second["reward"], second["stage"]) == ("incorrect", 0.0, "correctness")
        assert second["feedback"]
        assert second["prompt"] != begun["prompt"] == begun["problem"]
        assert [turn["verdict"] for turn in state["history"]] == ["correct", "incorrect"]
        assert (state["step_count"], state["turn"]) == (2, 3)


def test_an_episode_ends_after_its_last_turn(client: Play, front: str) -> None:
    codes = [source("incorrect"), source("correct speedup=2.0"), source("correct speedup=4.0")]
    _, first, second, third, _ = client("plain", front, codes=codes, max_turns=2)
    assert [first["done"], second["done"], third["done"]] == [False, True, True]
    assert (third["outcome"], third["reward"]) == ("over", None)


def test_the_typed_client_has_fields_and_names_turns(client: Play, front: str) -> None:
    begun, stepped, again, state = client("typed", front, code=source("correct speedup=4.0"))
    assert (begun["split"], begun["language"]) == ("train", "triton")
    assert stepped["reward"] == pytest.approx(2.3)
    assert (again["submission_id"], again["reward"]) == (stepped["submission_id"], stepped["reward"])
    assert (state["step_count"], state["task_id"]) == (1, begun["task_id"])


def test_what_could_not_be_graded_has_no_reward_and_uses_no_turn(client: Play, front: str) -> None:
    failed, good = client("not_graded", front, code=source("correct eval_s=30"), good=source("correct speedup=2.0"))
    assert (failed["outcome"], failed["reward"], failed["turn"]) == ("not_graded", None, 1)
    assert failed["error_code"]
    assert (good["graded_turn"], good["reward"]) == (1, pytest.approx(1.3))


def test_misuse_is_told_and_costs_nothing(client: Play, front: str) -> None:
    *told, outcome = client("refusals", front)
    for text, word in zip(
        told, ["reset first", "task_id", "level9/none", "language", "answer_s", "ep_none"], strict=True
    ):
        assert word in text
    assert outcome == "reset"


@pytest.mark.parametrize("release", RELEASES)
def test_sessions_are_as_many_as_were_asked_for(
    client: Play, door_for: Callable[[str, int], str], release: str
) -> None:
    first, second, afterwards = client("two_sessions", door_for(release, 1))
    assert (first, afterwards) == ("reset", "reset")
    assert second != "reset"
    assert client("two_sessions", door_for(release, 2)) == ["reset", "reset", "reset"]
