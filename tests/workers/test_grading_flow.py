"""From a bell to a verdict, with real workers, Celery and broker."""

from tests.services.installation import Installation, source


def test_a_submission_reaches_its_verdict(installed: Installation) -> None:
    installed.start_worker()
    row = installed.submit(source("correct speedup=4.0"))
    (ended,) = installed.wait_ended([row.id])
    assert ended.status == "completed"
    assert ended.verdict == "correct"
    assert ended.reward == 2.3
    assert ended.attempt == 1
    assert ended.environment["mock"] is True
