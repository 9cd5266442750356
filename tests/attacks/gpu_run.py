"""`python -m tests.attacks.gpu_run RECORD [NAME…]`: each attack on a GPU, then an honest kernel; a JSON line a file.

Exits with 1 if any outcome is wrong. Needs nothing but torch and triton, so that it runs on a bare GPU machine.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.attacks.bench import Grader, grader, paid, wrongs
from tests.attacks.corpus import GPU, Attack


def run(judge: Grader, attack: Attack) -> dict[str, Any]:
    """Grade one attack past the static check, then the honest kernel."""
    started = time.monotonic()
    report = judge.grade_unchecked(attack.code, attack.task, attack.language)
    graded_s = time.monotonic() - started
    honest = judge.honest()
    wrong = [*wrongs(report, attack), *([] if honest.correct else [f"then honest: {honest.verdict}"])]
    return {
        "attack": attack.name,
        "verdict": str(report.verdict),
        "paid": paid(report),
        "seconds": round(graded_s, 2),
        "then": str(honest.verdict),
        "wrong": wrong,
        "feedback": (report.feedback if honest.correct else honest.feedback)[:300],
    }


def main(record: Path, names: list[str]) -> int:
    chosen = [attack for attack in GPU if not names or attack.name in names or attack.name.split("/")[0] in names]
    bad = 0
    with record.open("a") as lines, grader("gpu") as judge:
        print(json.dumps(judge.honest().to_json())[:2000], flush=True)
        for attack in chosen:
            try:
                outcome = run(judge, attack)
            except Exception as error:  # noqa: BLE001 - a fault of ours is an outcome too, and the others still run
                outcome = {"attack": attack.name, "wrong": [f"{type(error).__name__}: {error}"[:500]]}
            bad += bool(outcome["wrong"])
            lines.write(json.dumps(outcome) + "\n")
            lines.flush()
            print(
                "BAD" if outcome["wrong"] else "ok ",
                json.dumps(outcome)[: 700 if outcome["wrong"] else 200],
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
