"""Everything is killed outright, again and again, while three runs have their kernels graded: nothing may show."""

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from evaluator.mock import drawn
from evaluator.reward import reward
from evaluator.submission import Submission as Source
from evaluator.verdicts import Verdict
from grading.models import Attempt, Submission
from grading.states import UNFINISHED
from tests.chaos import kills
from tests.chaos.audit import violations
from tests.chaos.conftest import Scale, lanes
from tests.chaos.stage import Stage, seconds_since
from tests.chaos.trainers import Trainer, language_of, trainer
from tests.services.installation import TASK, cuda_source, source

RUNS = ("run-a", "run-b", "run-c")
WORKERS = 4
ALREADY_THERE = 2
TURNS = 4
BATCH = 15
THREADS = 6
EVAL_S = 0.15


@pytest.mark.timeout(1800)
def test_nothing_is_lost_and_nothing_is_graded_twice(one_stage: Stage, scale: Scale, figures: dict[str, Any]) -> None:
    made, on_postgres = one_stage, one_stage.kind == "postgres"
    count = scale.pick(200 if on_postgres else 60, 1000)
    groups = [["api"], [f"worker-{n}" for n in range(WORKERS)], ["builder-0"], ["reaper"], ["redis"]]
    groups += [["postgres"]] if on_postgres else []
    planned = kills.plan(scale.seed, scale.pick(5 if on_postgres else 2, 20), groups)
    with ExitStack() as stack:
        stack.callback(made.keeper.drop, *(made.add_worker(n, **lanes(n)).name for n in range(ALREADY_THERE, WORKERS)))
        made.wait_until_ready(WORKERS)
        before = Counter(made.keeper.starts)
        begun = time.monotonic()
        runs = [stack.enter_context(trainer(made.url, run, 900)) for run in RUNS]
        pool = stack.enter_context(ThreadPoolExecutor(len(RUNS) * THREADS))
        work = [play for number, run in enumerate(runs) for play in start(pool, run, share(count, number))]
        killed = kills.execute(planned, made.keeper, lambda: ended_frac(made, count))
        seen = {row["id"]: row for play in work for row in play.result()}
        accepted = {key: code for run in runs for key, code in run.accepted.items()}
        figures[f"random_kills_{made.kind}"] = {
            "seed": scale.seed,
            "submissions": len(accepted),
            "kills": killed,
            "restarts": dict(Counter(made.keeper.starts) - before),
            "seconds": seconds_since(begun),
            "clients_met": dict(sum((run.met for run in runs), Counter())),
            "submissions_by_attempts": attempts(made),
            "attempts_by_kind_and_end": ends(made),
        }
        print(figures[f"random_kills_{made.kind}"])
        assert len(accepted) == len(seen) == count
        check(made, accepted, seen)


def share(count: int, number: int) -> int:
    """How many of `count` submissions the run of this number sends."""
    return count // len(RUNS) + (1 if number < count % len(RUNS) else 0)


def start(pool: ThreadPoolExecutor, run: Trainer, count: int) -> list["Future[list[dict[str, Any]]]"]:
    """A third of the work as single submissions that queue up at once, a third in batches, the rest in episodes.

    Every third source is one that is to be built first.
    """
    made = [cuda_source if n % 3 == 0 else source for n in range(count)]
    codes = [write(f"drawn eval_s={EVAL_S}", f"{run.run_id} {n}") for n, write in enumerate(made)]
    singles, batches, turns = codes[: count // 3], codes[count // 3 : 2 * count // 3], codes[2 * count // 3 :]
    taken = [pool.submit(run.submit, f"single-{n}", code) for n, code in enumerate(singles)]
    work = [pool.submit(run.play, f"episode-{n}", play) for n, play in enumerate(chunks(turns, TURNS))]
    sent = [pool.submit(run.send_batch, f"batch-{n}", codes) for n, codes in enumerate(chunks(batches, BATCH))]
    work += [pool.submit(lambda batch: run.drain(batch.result()), batch) for batch in sent]
    return work + [pool.submit(_wait_for, run, each) for each in taken]


def chunks(codes: list[str], size: int) -> list[list[str]]:
    return [codes[at : at + size] for at in range(0, len(codes), size)]


def _wait_for(run: Trainer, taken: "Future[str]") -> list[dict[str, Any]]:
    return [run.wait_ended(taken.result())]


def ended_frac(made: Stage, count: int) -> float:
    """The share of the work that has ended; 0 while the database does not say."""
    try:
        with made.db.read() as session:
            done = select(func.count()).where(Submission.run_id.in_(RUNS), Submission.status.not_in(UNFINISHED))
            return session.scalars(done).one() / count
    except SQLAlchemyError:
        return 0.0


def attempts(made: Stage) -> dict[str, int]:
    """How many submissions needed how many attempts."""
    with made.db.read() as session:
        ours = select(Submission.attempt).where(Submission.run_id.in_(RUNS))
        return {str(number): count for number, count in sorted(Counter(session.scalars(ours)).items())}


def ends(made: Stage) -> dict[str, int]:
    """How many builds and grades ended how."""
    with made.db.read() as session:
        ours = select(Attempt.kind, Attempt.outcome).join(Submission).where(Submission.run_id.in_(RUNS))
        found = Counter(f"{kind} {outcome}" for kind, outcome in session.execute(ours))
    return dict(sorted(found.items()))


def check(made: Stage, accepted: dict[str, str], seen: dict[str, dict[str, Any]]) -> None:
    """The invariants, and for every submission the verdict and reward of a server that nothing happens to."""
    assert violations(made.db) == []
    with made.db.read() as session:
        ours = select(Submission).where(Submission.run_id.in_(RUNS))
        rows = {row.id: row for row in session.scalars(ours)}
    assert rows.keys() == accepted.keys(), "what was accepted is there, and nothing else"
    wrong = []
    for submission_id, code in accepted.items():
        row, answer, expected = rows[submission_id], seen[submission_id], faultless(code)
        if not (row.verdict, row.reward) == (answer["verdict"], answer["reward"]) == expected:
            wrong.append(f"{submission_id} {row.status}: {row.verdict}, {row.reward}, {row.error_code} not {expected}")
    assert not wrong


def faultless(code: str) -> tuple[str, float]:
    """Verdict and reward of the mock evaluator when nothing goes wrong."""
    verdict, speedup = drawn(Source("calm", TASK, code, language_of(code), "00"))
    timed = speedup if verdict is Verdict.CORRECT else None
    return str(verdict), reward(verdict, speedup=timed, roofline_frac=None, mode="speedup", partial_credit=False)
