"""Episodes over HTTP, with a real worker and the mock evaluator."""

from typing import Any

import httpx

TASK = "level1/19_ReLU"
SOURCE = """
import torch, triton
import triton.language as tl

# mock: {mock}

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.maximum(x, 0), mask=offsets < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""


def source(mock: str) -> str:
    """A source for which the mock evaluator gives the outcome asked for."""
    return SOURCE.format(mock=mock)


def open_episode(api: httpx.Client, **body: Any) -> dict[str, Any]:
    response = api.post("/episodes", json={"task_id": TASK, **body})
    assert response.status_code == 201, response.text
    episode: dict[str, Any] = response.json()
    assert response.headers["Location"] == f"/episodes/{episode['id']}"
    return episode


def grade(api: httpx.Client, **body: Any) -> dict[str, Any]:
    """Submit and wait for the end."""
    response = api.post("/submissions", params={"wait": 30}, json=body)
    assert response.status_code == 200, response.text
    submission: dict[str, Any] = response.json()
    return submission


def test_two_turns_from_prompt_to_reward(api: httpx.Client) -> None:
    episode = open_episode(api, max_turns=2, run_id="run-1", labels={"step": "7"})
    assert TASK in episode["problem"]
    assert (episode["turn"], episode["done"], episode["history"], episode["next_prompt"]) == (1, False, [], None)

    wrong = grade(api, episode_id=episode["id"], code=source("incorrect"), turn=1)
    assert (wrong["status"], wrong["verdict"], wrong["stage"]) == ("completed", "incorrect", "correctness")
    assert (wrong["reward"], wrong["turn"], wrong["run_id"]) == (0.0, 1, "run-1")
    assert wrong["result"]["feedback"]
    told = api.get(f"/episodes/{episode['id']}").json()["next_prompt"]
    assert told.startswith("# Turn 2 of 2\n")
    assert wrong["result"]["feedback"] in told

    right = grade(api, episode_id=episode["id"], code=source("correct speedup=2.0"), turn=2)
    assert (right["verdict"], right["stage"], right["turn"]) == ("correct", "ok", 2)
    assert right["reward"] == 0.3 + 1.0
    assert right["timings"]["eval_s"] is not None
    assert right["environment"]

    ended = api.get(f"/episodes/{episode['id']}").json()
    assert (ended["status"], ended["done"], ended["best_speedup"]) == ("finished", True, 2.0)
    assert ended["next_prompt"] is None
    assert [(turn["turn"], turn["verdict"], turn["reward"]) for turn in ended["history"]] == [
        (1, "incorrect", 0.0),
        (2, "correct", 1.3),
    ]
    assert ended["history"][1]["code_sha"] == right["code_sha"]

    response = api.post("/submissions", json={"episode_id": episode["id"], "code": source("correct")})
    assert (response.status_code, response.json()["code"]) == (409, "episode_finished")


def test_a_syntax_error_is_a_verdict_with_its_line(api: httpx.Client) -> None:
    episode = open_episode(api)
    submission = grade(api, episode_id=episode["id"], code="import torch\ndef broken(:\n    pass\n")
    assert (submission["verdict"], submission["reward"]) == ("format_violation", 0.0)
    assert "line 2" in submission["result"]["feedback"]


def test_a_fault_of_ours_has_no_reward_and_takes_no_turn(api: httpx.Client) -> None:
    episode = open_episode(api)
    failed = grade(api, episode_id=episode["id"], code=source("fault code=device_fault"), turn=1)
    assert (failed["status"], failed["verdict"], failed["reward"]) == ("failed", None, None)
    assert failed["error"]["code"]
    assert isinstance(failed["error"]["retryable"], bool)
    again = grade(api, episode_id=episode["id"], code=source("correct"), turn=1)
    assert (again["verdict"], again["turn"]) == ("correct", 1)


def test_the_same_seed_draws_the_same_task(api: httpx.Client) -> None:
    drawn = [api.post("/episodes", json={"split": "train", "seed": seed}).json() for seed in (3, 3, 4, 5, 6)]
    assert drawn[0]["task_id"] == drawn[1]["task_id"]
    assert len({episode["task_id"] for episode in drawn}) > 1
    assert all(episode["split"] == "train" for episode in drawn)
    assert api.post("/episodes", json={}).json()["split"] == "train"
    assert api.post("/episodes", json={"split": "eval"}).json()["split"] == "eval"


def test_one_submission_at_a_time_and_the_right_turn(api: httpx.Client) -> None:
    episode = open_episode(api)
    first = api.post("/submissions", json={"episode_id": episode["id"], "code": source("correct eval_s=20")})
    assert first.status_code == 202
    second = api.post("/submissions", json={"episode_id": episode["id"], "code": source("correct")})
    assert (second.status_code, second.json()["code"]) == (409, "turn_conflict")
    ended = api.post(f"/episodes/{episode['id']}/cancel").json()
    assert (ended["status"], ended["done"]) == ("cancelled", True)
    assert api.get(first.headers["Location"]).json()["status"] == "cancelled"
    other = open_episode(api)
    wrong_turn = api.post("/submissions", json={"episode_id": other["id"], "code": source("correct"), "turn": 2})
    assert (wrong_turn.status_code, wrong_turn.json()["code"]) == (409, "turn_conflict")


def test_opening_twice_with_one_key(api: httpx.Client) -> None:
    headers = {"Idempotency-Key": "open-1"}
    first = api.post("/episodes", json={"seed": 9}, headers=headers)
    again = api.post("/episodes", json={"seed": 9}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    other = api.post("/episodes", json={"seed": 10}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
