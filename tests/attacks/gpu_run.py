"""`python -m tests.attacks.gpu_run RECORD [--only NAME…]`: attacks and honest kernels by turns in one judge on a GPU.

A JSON line a grade: every attack, and after each one the next kernel of the honest corpus, until both are through.
Exits with 1 if any outcome is wrong. Needs nothing but torch and triton, so that it runs on a bare GPU machine.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evaluator.judge.__main__ import SWITCH_INTERVAL_S
from evaluator.report import Report
from tests.attacks.bench import Grader, grader, paid, static_check_off, wrongs
from tests.attacks.corpus import GPU, Attack
from tests.honest.corpus import CORPUS, Honest

BUILDERS = 5
Case = Attack | Honest


def by_turns(attacks: list[Attack], honest: list[Honest]) -> Iterator[Case]:
    """An attack, an honest kernel, an attack, and so on; what needs no build comes first."""
    attacks = sorted(attacks, key=lambda attack: attack.language == "cuda")
    for pair in zip_longest(attacks, honest):
        yield from (case for case in pair if case is not None)


def run(judge: Grader, case: Case) -> dict[str, Any]:
    """Grade one; an attack is graded past the static check."""
    started = time.monotonic()
    grade = judge.grade_unchecked if isinstance(case, Attack) else judge.grade
    report = grade(case.code, case.task, case.language)
    if isinstance(case, Attack):
        kind, wrong = "attack", wrongs(report, case)
    else:
        kind, wrong = "honest", [] if report.correct else [f"an honest kernel is {report.verdict}"]
    return {kind: case.name, **_outcome(report), "seconds": round(time.monotonic() - started, 2), "wrong": wrong}


def _outcome(report: Report) -> dict[str, Any]:
    timed = {} if report.timing is None else {"t_new_ms": report.timing.t_new_ms, "speedup": report.timing.speedup}
    timed = {name: round(value, 4) for name, value in timed.items()}
    flags = {"suspicious": True} if report.suspicious else {}
    return {
        "verdict": str(report.verdict),
        "paid": round(paid(report), 4),
        **timed,
        **flags,
        "feedback": report.feedback[:300],
    }


class Run:
    """Grades cases beside each other and writes a line for each."""

    def __init__(self, judge: Grader, record: Path, deadline_s: float) -> None:
        self._judge = judge
        self._record = record
        self._end = time.monotonic() + deadline_s
        self._lock = threading.Lock()
        self.bad = self.left = 0

    def grade(self, case: Case) -> None:
        """One case, if there is time."""
        if time.monotonic() > self._end:
            self.left += 1
            return
        try:
            outcome = run(self._judge, case)
        except Exception as error:  # noqa: BLE001 - a fault of ours is an outcome too, and the others still run
            kind = "attack" if isinstance(case, Attack) else "honest"
            outcome = {kind: case.name, "wrong": [f"{type(error).__name__}: {error}"[:500]]}
        shown = json.dumps(outcome)[: 900 if outcome["wrong"] else 130]
        with self._lock, self._record.open("a") as lines:
            self.bad += bool(outcome["wrong"])
            lines.write(json.dumps(outcome) + "\n")
            print("BAD" if outcome["wrong"] else "ok ", shown, flush=True)


def main(record: Path, only: list[str], shard: str, deadline_s: float, lanes: int) -> int:
    """`only` names cases or folders of them, `shard` is such as 2/4: the second of four parts.

    What lies in the record already is not run again.
    """
    done = set()
    if record.exists():
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        done = {line.get("attack") or line.get("honest") for line in lines if not line["wrong"]}
    part, parts = (int(number) for number in shard.split("/"))
    cases = [
        case
        for case in by_turns(GPU[part - 1 :: parts], CORPUS[part - 1 :: parts])
        if case.name not in done and (not only or {case.name, case.name.split("/")[0]} & set(only))
    ]
    sys.setswitchinterval(SWITCH_INTERVAL_S)  # as the judge's own process does
    with static_check_off(), grader("gpu", lanes) as judge:
        graded = Run(judge, record, deadline_s)
        with ThreadPoolExecutor(BUILDERS) as builders, ThreadPoolExecutor(lanes) as graders:
            for case in cases:
                if case.language == "cuda":
                    builders.submit(judge.build, case.code, case.task)
            list(graders.map(graded.grade, cases))
            builders.shutdown(cancel_futures=True)
    print(f"{len(cases) - graded.left} graded, {graded.bad} wrong, {graded.left} left")
    return 1 if graded.bad or graded.left else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--shard", default="1/1", help="such as 2/4: the second of four parts")
    parser.add_argument("--deadline-s", type=float, default=3600.0)
    parser.add_argument("--lanes", type=int, default=3)
    arguments = parser.parse_args()
    sys.exit(main(arguments.record, arguments.only, arguments.shard, arguments.deadline_s, arguments.lanes))
