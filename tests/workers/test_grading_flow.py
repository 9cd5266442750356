"""From a bell to a verdict, with real workers, Celery and broker."""

import json

import pytest

from tests.services.installation import Installation, source, wait_for


def test_a_submission_reaches_its_verdict(installed: Installation) -> None:
    installed.start_worker()
    row = installed.submit(source("correct speedup=4.0"))
    (ended,) = installed.wait_ended([row.id])
    assert ended.status == "completed"
    assert ended.verdict == "correct"
    assert ended.reward == 2.3
    assert ended.attempt == 1
    assert ended.environment["mock"] is True


def test_a_source_that_takes_down_two_devices(installed: Installation) -> None:
    for number in range(2):
        installed.start_worker(number)
    killer = source("fault code=device_fault")
    (blamed,) = installed.wait_ended([installed.submit(killer).id])
    assert (blamed.verdict, blamed.reward, blamed.attempt) == ("runtime_error", 0.0, 2)
    (honest,) = installed.wait_ended([installed.submit(source()).id])
    assert honest.verdict == "correct", "a quarantined slot returns after a clean probe"
    (spared,) = installed.wait_ended([installed.submit(killer).id])
    assert (spared.verdict, spared.attempt) == ("runtime_error", 1)
    assert spared.result["feedback"].startswith("Not run again")


def test_a_fault_that_another_attempt_cannot_mend(installed: Installation) -> None:
    installed.start_worker()
    (failed,) = installed.wait_ended([installed.submit(source("fault code=no_space")).id])
    assert (failed.status, failed.attempt, failed.reward) == ("failed", 3, None)
    assert (failed.error_code, failed.error_retryable) == ("no_space", True)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_every_event_is_a_line_of_the_evaluation_log(installed: Installation) -> None:
    path = installed.data_dir / "evaluations.jsonl"
    installed.start_worker(KERNEL_ENV_EVAL_LOG=str(path))
    row = installed.submit(source("correct speedup=4.0"), run_id="run")
    installed.wait_ended([row.id])
    wait_for(lambda: "step" in path.read_text(), 30, "the last line")
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["claimed", "started", "step"]
    assert {line["submission_id"] for line in lines} == {row.id}
    assert lines[0]["gpu_id"] == "mock-testhost-0"
    line = lines[-1]
    wanted = {"event": "step", "submission_id": row.id, "verdict": "correct", "run_id": "run", "code_sha": row.code_sha}
    assert wanted.items() <= line.items()
    assert line["reward"] == 2.3
    assert line["eval_s"] >= 0
