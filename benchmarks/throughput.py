"""`python -m benchmarks.throughput`: evaluations a minute on one GPU, a fixed mix through a warm judge, saturated."""

import argparse
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.support import MIX, Case, machine, parser, warm_judge, write_record
from evaluator.client import JudgeClient
from evaluator.report import Report


def main() -> int:
    """Grade the mix `--rounds` times with all lanes busy, print a table, and the rate last."""
    made = parser(__doc__)
    made.set_defaults(lanes=3)
    made.add_argument("--rounds", type=int, default=4)
    options = made.parse_args()
    with warm_judge(options) as (judge, settings):

        def grade(case: Case) -> tuple[Case, float, Report]:
            client = JudgeClient(judge.socket_path, settings)
            started = time.monotonic()
            report = client.evaluate(case.submission(), lambda phase: None)
            client.close()
            return case, time.monotonic() - started, report

        with ThreadPoolExecutor(options.lanes) as pool:
            list(pool.map(grade, MIX))  # warm: every task once, outside the figures
            started = time.monotonic()
            graded = list(pool.map(grade, MIX * options.rounds))
            wall_s = time.monotonic() - started
        record = {"benchmark": "throughput", **machine(judge, settings), **_summary(options, graded, wall_s)}
    write_record(options.record, record)
    _print(record)
    return 0 if all(report.correct for _, _, report in graded) else 1


def _summary(options: argparse.Namespace, graded: list[tuple[Case, float, Report]], wall_s: float) -> dict[str, Any]:
    held_s: Counter[str] = Counter()
    for _, _, report in graded:
        held_s.update(report.environment["device_held_s"])
    cases = {}
    for case in MIX:
        own = [(seconds, report) for graded_case, seconds, report in graded if graded_case == case]
        phases = {name for _, report in own for name in report.phases}
        cases[case.task_id] = {
            "verdicts": sorted({str(report.verdict) for _, report in own}),
            "feedback": own[-1][1].feedback[:300],
            "median_s": round(statistics.median(seconds for seconds, _ in own), 3),
            "phases_s": {n: round(statistics.median(r.phases.get(n, 0.0) for _, r in own), 3) for n in sorted(phases)},
            "device_held_s": own[-1][1].environment["device_held_s"],
            "speedups": [round(r.timing.speedup, 4) for _, r in own if r.timing],
        }
    return {
        "lanes": options.lanes,
        "evaluations": len(graded),
        "wall_s": round(wall_s, 2),
        "evaluations_per_minute": round(60 * len(graded) / wall_s, 1),
        "device_held_frac": round(held_s.total() / wall_s, 3),
        "device_held_frac_by_purpose": {name: round(s / wall_s, 3) for name, s in held_s.most_common()},
        "cases": cases,
    }


def _print(record: dict[str, Any]) -> None:
    for task_id, case in record["cases"].items():
        print(f"{task_id:45} {case['median_s']:7.2f} s  {','.join(case['verdicts'])}  {case['phases_s']}")
        if case["verdicts"] != ["correct"]:
            print(f"    {case['feedback']}")
        else:
            print(f"    {case['speedups']} held {case['device_held_s']}")
    print(
        f"{record['evaluations']} evaluations in {record['wall_s']} s on {record['gpu'] or 'cpu'}, "
        f"{record['lanes']} lanes: {record['evaluations_per_minute']} a minute, "
        f"device held {record['device_held_frac']:.0%} of the time: "
        + ", ".join(f"{name} {share:.0%}" for name, share in record["device_held_frac_by_purpose"].items())
    )


if __name__ == "__main__":
    sys.exit(main())
