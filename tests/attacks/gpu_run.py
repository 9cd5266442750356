"""`python -m tests.attacks.gpu_run RECORD [--only NAME…]`: attacks and honest kernels by turns in one judge on a GPU.

A JSON line a grade: every attack, and after each one the next kernel of the honest corpus, until both are through. With
`--faults N`, N submissions that crash, hang or exhaust something and N honest kernels by turns instead.
Exits with 1 if any outcome is wrong. Needs nothing but torch and triton, so that it runs on a bare GPU machine.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, zip_longest
from pathlib import Path
from typing import Any

from evaluator.judge.__main__ import SWITCH_INTERVAL_S
from evaluator.report import Report
from evaluator.shards import Shard, add_shard_option
from tests.attacks.bench import Grader, grader, paid, static_check_off, wrongs
from tests.attacks.corpus import CORPUS as ATTACKS
from tests.attacks.corpus import GPU, Attack
from tests.honest.corpus import CORPUS, Honest

BUILDERS = 5
#: an error of CUDA's, no memory, a kernel and a constructor that never end, and ways for a process to be gone
FAULTS = (
    "gpu/illegal_address",
    "resources/null_pointer",
    "gpu/device_memory",
    "messages/silence",
    "resources/error_that_exits",
    "gpu/endless_kernel",
    "resources/system_exit",
    "messages/garbage",
    "resources/exit_as_if_all_was_well",
    "resources/loop_in_init",
)
Case = Attack | Honest


def by_turns(attacks: Sequence[Attack], honest: Sequence[Honest]) -> Iterator[Case]:
    """An attack, an honest kernel, an attack, and so on; what needs no build comes first."""
    attacks = sorted(attacks, key=lambda attack: attack.language == "cuda")
    for pair in zip_longest(attacks, honest):
        yield from (case for case in pair if case is not None)


def faulty_ones(count: int) -> list[Attack]:
    """So many submissions of all kinds of faults."""
    named = {attack.name: attack for attack in ATTACKS}
    return list(islice(cycle(named[name] for name in FAULTS), count))


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


def main(record: Path, only: list[str], shard: Shard, deadline_s: float, lanes: int, faults: int) -> int:
    """`only` names cases or folders of them.

    What lies in the record already is not run again, but for faults.
    """
    done = set()
    if record.exists() and not faults:
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        done = {line.get("attack") or line.get("honest") for line in lines if not line["wrong"]}
    attacks, honest = (faulty_ones(faults), CORPUS[:faults]) if faults else (GPU, CORPUS)
    cases = [
        case
        for case in by_turns(shard.of(attacks), shard.of(honest))
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
    add_shard_option(parser)
    parser.add_argument("--deadline-s", type=float, default=3600.0)
    parser.add_argument("--lanes", type=int, default=3)
    parser.add_argument("--faults", type=int, default=0, help="so many faulty ones and as many honest ones instead")
    sys.exit(main(**vars(parser.parse_args())))
