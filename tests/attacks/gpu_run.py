"""`python -m tests.attacks.gpu_run RECORD [--only NAME…]`: attacks and honest kernels by turns in one judge on a GPU.

A JSON line a grade: every attack, and after each one the next kernel of the honest corpus, until both are through.
Exits with 1 if any outcome is wrong. Needs nothing but torch and triton, so that it runs on a bare GPU machine.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evaluator.report import Report
from tests.attacks.bench import Grader, grader, paid, wrongs
from tests.attacks.corpus import GPU, Attack
from tests.honest.corpus import CORPUS, Honest

BUILDERS = 6
Case = Attack | Honest


def by_turns(attacks: list[Attack], honest: list[Honest]) -> Iterator[Case]:
    """An attack, an honest kernel, an attack, and so on; what needs no build comes first."""
    attacks = sorted(attacks, key=lambda attack: attack.language == "cuda")
    for pair in zip_longest(attacks, honest):
        yield from (case for case in pair if case is not None)


def run(judge: Grader, case: Case) -> dict[str, Any]:
    """Grade one; an attack is graded past the static check."""
    started = time.monotonic()
    if isinstance(case, Attack):
        report = judge.grade_unchecked(case.code, case.task, case.language)
        wrong = wrongs(report, case)
    else:
        report = judge.grade(case.code, case.task, case.language)
        wrong = [] if report.correct else [f"an honest kernel is {report.verdict}"]
    kind = "attack" if isinstance(case, Attack) else "honest"
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


def main(record: Path, only: list[str], deadline_s: float) -> int:
    """`only` names cases or folders of them; what lies in the record already is not run again."""
    end = time.monotonic() + deadline_s
    done = set()
    if record.exists():
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        done = {line.get("attack") or line.get("honest") for line in lines if not line["wrong"]}
    cases = [
        case
        for case in by_turns(GPU, CORPUS)
        if case.name not in done and (not only or {case.name, case.name.split("/")[0]} & set(only))
    ]
    bad = left = 0
    with record.open("a") as lines_out, grader("gpu") as judge, ThreadPoolExecutor(BUILDERS) as builders:
        sources = {case.code: case for case in cases if case.language == "cuda"}
        builds = [builders.submit(judge.build, case.code, case.task) for case in sources.values()]
        for case in cases:
            if time.monotonic() > end:
                left += 1
                continue
            try:
                outcome = run(judge, case)
            except Exception as error:  # noqa: BLE001 - a fault of ours is an outcome too, and the others still run
                outcome = {"attack": case.name, "wrong": [f"{type(error).__name__}: {error}"[:500]]}
            bad += bool(outcome["wrong"])
            lines_out.write(json.dumps(outcome) + "\n")
            lines_out.flush()
            shown = json.dumps(outcome)[: 900 if outcome["wrong"] else 130]
            print("BAD" if outcome["wrong"] else "ok ", shown, flush=True)
        for build in builds:
            build.cancel()
    print(f"{len(cases) - left} graded, {bad} wrong, {left} left")
    return 1 if bad or left else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--deadline-s", type=float, default=3600.0)
    arguments = parser.parse_args()
    sys.exit(main(arguments.record, arguments.only, arguments.deadline_s))
