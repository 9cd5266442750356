"""A process dies or freezes at one point of claim, grade, write-back or dispatch: the work goes on, once."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psutil
import pytest
from sqlalchemy import select

from grading import jobs
from grading.celery_app import make_celery
from grading.jobs import Bell, NewSubmission
from grading.models import Attempt, Submission
from grading.queue import Ringer
from grading.states import AttemptEnd
from tests.chaos.audit import violations
from tests.chaos.conftest import GIVE_UP_S, WORKERS, Scale
from tests.chaos.stage import Stage
from tests.chaos.trainers import Trainer
from tests.services.installation import PROJECT, SECRET, TASK, UNDER_WAY, cuda_source, source, wait_for
from tests.services.processes import alive

EACH = 3
QUICK = "correct"


@dataclass(frozen=True)
class Case:
    """Who dies where and how, and how many attempts are lost with it; `lean` runs take it on these databases."""

    part: str
    point: str
    lost: int = 0
    fate: str = "kill"
    lean: tuple[str, ...] = ("postgres",)

    def __str__(self) -> str:
        return f"{self.part}-{self.point}-{self.fate}"


BOTH = ("postgres", "sqlite")
CASES = (
    Case("worker", "claim.uncommitted"),
    Case("worker", "claim.committed", 1, lean=BOTH),
    Case("worker", "claim.committed", 1, "slot", lean=()),
    Case("worker", "bells_after_claim.uncommitted", 1),
    Case("worker", "bells_after_claim.committed", 1, "slot", lean=()),
    Case("worker", "evaluate.begins", 1, "slot", lean=()),
    Case("worker", "evaluate.done", 1),
    Case("worker", "renew.uncommitted"),
    Case("worker", "renew.committed", lean=()),
    Case("worker", "finish.uncommitted", 1, lean=BOTH),
    Case("worker", "finish.uncommitted", 1, "slot", lean=()),
    Case("worker", "finish.committed", lean=BOTH),
    Case("worker", "finish.committed", 0, "slot"),
    Case("worker", "hint.begins", lean=()),
    Case("worker", "hint.done", 0, "slot", lean=()),
    Case("worker", "bell_for_idle_slot.uncommitted"),
    Case("worker", "bell_for_idle_slot.committed"),
    Case("worker", "ring.begins"),
    Case("worker", "ring.done", 0, "slot", lean=()),
    Case("worker", "ack.begins"),
    Case("worker", "ack.done", lean=()),
    Case("worker", "load_product.uncommitted", 1, lean=()),
    Case("worker", "load_product.committed", 1, lean=()),
    Case("builder", "claim.uncommitted", lean=()),
    Case("builder", "claim.committed", 1),
    Case("builder", "claim.committed", 1, "slot", lean=()),
    Case("builder", "build.begins", 1, "slot", lean=()),
    Case("builder", "build.done", 1, lean=()),
    Case("builder", "store_product.uncommitted", 1),
    Case("builder", "store_product.committed", 1, lean=()),
    Case("builder", "renew.uncommitted", lean=()),
    Case("builder", "make_ready.uncommitted", 1, lean=BOTH),
    Case("builder", "make_ready.uncommitted", 1, "slot", lean=()),
    Case("builder", "make_ready.committed", lean=BOTH),
    Case("builder", "make_ready.committed", 0, "slot", lean=()),
    Case("builder", "ring.begins", lean=()),
    Case("builder", "ack.done", lean=()),
    Case("api", "submit.uncommitted"),
    Case("api", "submit.committed", lean=BOTH),
    Case("api", "assign_bells.uncommitted"),
    Case("api", "assign_bells.committed"),
    Case("api", "ring.begins"),
    Case("api", "ring.done"),
    Case("reaper", "lose.uncommitted", 1, lean=()),
    Case("reaper", "lose.committed", 1),
    Case("reaper", "assign_bells.committed", 1, lean=()),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_process_dies_at(case: Case, made: Stage, client: Trainer, scale: Scale) -> None:
    scale.only(made, case.lean)
    victims = {"worker": [f"worker-{n}" for n in range(WORKERS)], "builder": ["builder-0"]}.get(case.part, [case.part])
    if case.part == "reaper":  # it has work to do where a worker was lost
        ids = submit_to_lost_workers(made, client)
    for victim in victims:
        made.doom(victim, case.point, case.fate)
    if case.part != "reaper":
        ids = submit_what_leads_to(case, made, client)

    def reached() -> bool:
        return any(made.doomed(victim) for victim in victims)

    if case.part in ("api", "builder"):  # idle slots may be faster than the first bells of what has just started
        ids += keep_submitting(client, reached, cuda_source if case.part == "builder" else source)
    wait_for(reached, 30, f"{case.point} to be reached", made.tails)
    made.disarm()
    ended = made.installed.wait_ended(ids)
    assert {row.verdict for row in ended} == {"correct"}
    assert violations(made.db) == []
    ends = outcomes(made, ids)
    assert ends[AttemptEnd.VERDICT] == len(ids)
    assert ends.total() - len(ids) - ends[AttemptEnd.BUILT] >= case.lost, ends


@pytest.mark.parametrize("point", ["finish_fault.uncommitted", "finish_fault.committed"])
def test_a_process_dies_while_it_records_a_fault_of_ours(
    point: str, made: Stage, client: Trainer, scale: Scale
) -> None:
    scale.only(made, ("postgres",))
    doom_workers(made, point)
    taken = client.submit("fault", source("fault code=no_space"))
    (failed,) = made.installed.wait_ended([taken])
    assert any(made.doomed(f"worker-{n}") for n in range(WORKERS))
    assert (failed.status, failed.losses, failed.reward) == ("failed", 3, None)
    assert violations(made.db) == []


@pytest.mark.parametrize(
    ("point", "end"),
    [("hand_back_slot.uncommitted", AttemptEnd.LOST), ("hand_back_slot.committed", AttemptEnd.HANDED_BACK)],
)
def test_a_process_dies_while_it_hands_back(
    point: str, end: AttemptEnd, made: Stage, client: Trainer, scale: Scale
) -> None:
    scale.only(made, ("postgres",))
    taken = client.submit("long", source("correct eval_s=500"))
    wait_for(lambda: made.installed.row(taken).phase in UNDER_WAY, 30, "the grade to be under way", made.tails)
    part = f"worker-{(made.installed.row(taken).slot_id or '')[-1]}"
    made.doom(part, point)
    made.keeper.kill(part, "term")
    wait_for(lambda: end in outcomes(made, [taken]), 60, f"the end {end}", made.tails)
    client.request("POST", f"/submissions/{taken}/cancel")
    assert made.doomed(part)
    assert violations(made.db) == []


@pytest.mark.parametrize(
    "point",
    [
        *("register_slot.uncommitted", "register_slot.committed", "renew_slot.committed"),
        *("take_over.uncommitted", "take_over.committed", "note_probe.uncommitted", "note_probe.committed"),
    ],
)
def test_a_worker_dies_while_it_starts(point: str, made: Stage, client: Trainer, scale: Scale) -> None:
    """In the middle of a grade, so that its successor has something to take over."""
    scale.only(made, ("postgres",) if point in ("register_slot.committed", "take_over.committed") else ())
    crowd = [client.submit(f"long-{n}", source("correct eval_s=2", f"{client.run_id} {n}")) for n in range(2 * WORKERS)]
    at_work = lambda: any(made.installed.row(taken).slot_id == "mock-testhost-0" for taken in crowd)  # noqa: E731
    wait_for(at_work, 30, "the worker to be at work", made.tails)
    made.doom("worker-0", point)
    made.keeper.kill("worker-0")
    wait_for(lambda: made.doomed("worker-0"), 30, f"{point} to be reached", made.tails)
    made.wait_until_ready(WORKERS)
    made.installed.wait_ended([*crowd, *submit_all(client)])
    assert violations(made.db) == []


@pytest.mark.parametrize("point", ["quarantine.uncommitted", "quarantine.committed"])
def test_a_worker_dies_while_it_closes_its_slot(point: str, made: Stage, client: Trainer, scale: Scale) -> None:
    scale.only(made, ("postgres",) if point == "quarantine.committed" else ())
    doom_workers(made, point)
    taken = client.submit("fault", source("fault code=device_fault", client.run_id))
    wait_for(lambda: any(made.doomed(f"worker-{n}") for n in range(WORKERS)), 30, f"{point} to be reached", made.tails)
    made.disarm()
    (blamed,) = made.installed.wait_ended([taken])
    assert (blamed.status, blamed.verdict, blamed.losses) == ("completed", "runtime_error", 2)
    made.wait_until_ready(WORKERS)
    assert violations(made.db) == []


@pytest.mark.parametrize("point", ["bell_to_pass_on.uncommitted", "bell_to_pass_on.committed"])
def test_a_worker_dies_while_it_passes_a_bell_on(point: str, made: Stage, client: Trainer, scale: Scale) -> None:
    """An operator holds its slot just as it is rung for, and nobody else has room."""
    scale.only(made, ("postgres",) if point == "bell_to_pass_on.committed" else ())
    jobs.hold(made.db, "mock-testhost-0")
    busy = [client.submit(f"busy-{n}", source("correct eval_s=5", f"{client.run_id} {n}")) for n in range(2)]
    wait_for(lambda: all(made.installed.row(taken).slot_id for taken in busy), 30, "a full slot", made.tails)
    made.keeper.kill("reaper", down_s=5)
    made.doom("worker-0", point)
    taken = jobs.submit(made.db, SECRET, NewSubmission(PROJECT, source(QUICK, client.run_id), task_id=TASK)).row.id
    with made.db.write() as session:
        session.get_one(Submission, taken).queue = "gpu.mock.testhost.0"
    ringer = Ringer(make_celery(made.installed.settings), made.db)
    ringer.ring([Bell("gpu.mock.testhost.0", taken)])
    wait_for(lambda: made.doomed("worker-0"), 30, f"{point} to be reached", made.tails)
    made.installed.wait_ended([taken, *busy])
    jobs.let_go(made.db, "mock-testhost-0")
    made.wait_until_ready(WORKERS)
    assert violations(made.db) == []


@pytest.mark.parametrize("point", ["cancel_submission.uncommitted", "cancel_submission.committed"])
def test_the_api_dies_while_it_cancels(point: str, made: Stage, client: Trainer, scale: Scale) -> None:
    scale.only(made, ("postgres",) if point == "cancel_submission.committed" else ())
    taken = client.submit("long", source("correct eval_s=500"))
    wait_for(lambda: made.installed.row(taken).phase in UNDER_WAY, 30, "the grade to be under way", made.tails)
    made.doom("api", point)
    client.request("POST", f"/submissions/{taken}/cancel")
    assert made.doomed("api")
    assert outcomes(made, [taken]) == Counter([AttemptEnd.CANCELLED])
    made.installed.wait_ended(submit_all(client))
    assert violations(made.db) == []


@pytest.mark.parametrize("point", ["unring.uncommitted", "unring.committed"])
def test_the_api_dies_over_a_bell_that_it_could_not_ring(
    point: str, made: Stage, client: Trainer, scale: Scale
) -> None:
    scale.only(made, ("postgres",) if point == "unring.committed" else ())
    made.doom("api", point)
    made.keeper.kill("redis", down_s=GIVE_UP_S)
    ids = submit_all(client)
    wait_for(lambda: made.doomed("api"), 30, f"{point} to be reached", made.tails)
    made.keeper.kill("redis")
    made.installed.wait_ended(ids)
    assert violations(made.db) == []


def test_frozen_between_verdict_and_record(made: Stage, client: Trainer, scale: Scale) -> None:
    """Past its lease, so that another attempt has ended by the time that it wakes up."""
    scale.only(made, ("postgres",))
    doom_workers(made, "evaluate.done", "freeze")
    taken = client.submit("frozen", source())
    wait_for(lambda: len(frozen(made)) > 0, 30, "a frozen grade", made.tails)
    made.disarm()
    (ended,) = made.installed.wait_ended([taken])
    thaw(made)
    wait_for(lambda: bool(dropped(made, taken)), 30, "the late verdict to be dropped", made.tails)
    assert made.installed.row(taken).fence == ended.fence
    assert outcomes(made, [taken]) == Counter([AttemptEnd.LOST, AttemptEnd.VERDICT])
    assert violations(made.db) == []


@pytest.mark.parametrize("point", ["claim.uncommitted", "finish.uncommitted"])
def test_frozen_in_the_middle_of_a_transaction(point: str, made: Stage, client: Trainer, scale: Scale) -> None:
    """It holds its row, so nobody could take it. A verdict that it commits on waking up is valid past its lease."""
    scale.only(made, ("postgres",) if point == "finish.uncommitted" else ())
    doom_workers(made, point, "freeze")
    taken = client.submit("frozen", source())
    wait_for(lambda: len(frozen(made)) > 0, 30, "a frozen grade", made.tails)
    made.disarm()
    time.sleep(made.installed.settings.leases.lease_s + 1)
    thaw(made)
    made.installed.wait_ended([taken, *submit_all(client)])
    if point == "finish.uncommitted":
        assert outcomes(made, [taken]) == Counter([AttemptEnd.VERDICT])
    assert violations(made.db) == []


def doom_workers(made: Stage, point: str, fate: str = "kill") -> None:
    for number in range(WORKERS):
        made.doom(f"worker-{number}", point, fate)


def frozen(made: Stage) -> list[psutil.Process]:
    """Processes of the workers that stand still."""
    mains = [process for process in made.installed.processes if process.running()]
    family = [child for process in mains for child in process.children()]
    return [process for process in family if alive(process) and process.status() == psutil.STATUS_STOPPED]


def thaw(made: Stage) -> None:
    for process in frozen(made):
        process.resume()


def dropped(made: Stage, submission_id: str) -> list[str]:
    return [line for line in made.logged("verdict_dropped") if submission_id in line]


def submit_all(client: Trainer, directive: str = QUICK, write: Callable[[str, object], str] = source) -> list[str]:
    with ThreadPoolExecutor(EACH) as pool:
        return list(pool.map(lambda n: client.submit(f"{n}", write(directive, f"{client.run_id} {n}")), range(EACH)))


def submit_what_leads_to(case: Case, made: Stage, client: Trainer) -> list[str]:
    if case.part == "worker" and case.point.startswith(("ring", "bell_for_idle_slot")):
        return submit_unrung(made)
    # what is renewed takes longer than that
    slow = "correct eval_s=2 build_s=2" if case.point.startswith("renew") else QUICK
    built = case.part == "builder" or case.point.startswith("load_product")
    return submit_all(client, slow, cuda_source if built else source)


def submit_to_lost_workers(made: Stage, client: Trainer) -> list[str]:
    """All workers die at their next grade; at least one has when this returns."""
    doom_workers(made, "evaluate.begins")
    ids = submit_all(client)
    wait_for(lambda: any(made.doomed(f"worker-{n}") for n in range(WORKERS)), 30, "a lost worker", made.tails)
    return ids


def keep_submitting(client: Trainer, reached: Callable[[], bool], write: Callable[[str, object], str]) -> list[str]:
    """More of them, one at a time, until the point is reached or that takes too long."""
    ids: list[str] = []
    until = time.monotonic() + 20
    while not reached() and time.monotonic() < until:
        ids.append(client.submit(f"more-{len(ids)}", write(QUICK, f"{client.run_id} more {len(ids)}")))
        time.sleep(0.5)
    return ids


def submit_unrung(made: Stage) -> list[str]:
    """As if the bells of the API were lost, so that idle slots ring for themselves."""
    new = [NewSubmission(PROJECT, source(QUICK, n), task_id=TASK) for n in range(EACH)]
    return [jobs.submit(made.db, SECRET, each).row.id for each in new]


def outcomes(made: Stage, ids: list[str]) -> Counter[AttemptEnd | None]:
    with made.db.read() as session:
        return Counter(session.scalars(select(Attempt.outcome).where(Attempt.submission_id.in_(ids))))
