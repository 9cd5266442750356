"""`python -m benchmarks.throughput`: evaluations a minute, a fixed mix through a warm judge per GPU, all lanes busy."""

import argparse
import statistics
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from benchmarks.support import MIX, Case, machine, parser, warm_judge, write_record
from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EvaluatorConfig
from evaluator.report import Report

Graded = tuple[Case, float, Report]
Judge = tuple[JudgeProcess, EvaluatorConfig]


def main() -> int:
    """Grade the mix `--rounds` times on each GPU, print a table, and the rate last. Exit code 0 if all are correct."""
    made = parser(__doc__)
    made.set_defaults(lanes=3)
    made.add_argument("--rounds", type=int, default=4)
    made.add_argument("--gpus", help="comma list: a judge on each of them, all at once (default: --gpu alone)")
    options = made.parse_args()
    with ExitStack() as stack:
        judges = [
            stack.enter_context(warm_judge(argparse.Namespace(**{**vars(options), "gpu": gpu})))
            for gpu in ([int(gpu) for gpu in options.gpus.split(",")] if options.gpus else [options.gpu])
        ]
        saturate(judges, 1)  # warm: every task once on each, outside the figures
        started = time.monotonic()
        graded = saturate(judges, options.rounds)
        wall_s = time.monotonic() - started
        record = {"benchmark": "throughput", **machine(*judges[0]), **_summary(options, len(judges), graded, wall_s)}
    write_record(options.record, record)
    _print(record)
    return 0 if all(report.correct for _, _, report in graded) else 1


def saturate(judges: list[Judge], rounds: int) -> list[Graded]:
    """The mix `rounds` times through every judge, with as many grades at once as each has lanes."""
    with ExitStack() as stack:
        running = []
        for judge in judges:
            pool = stack.enter_context(ThreadPoolExecutor(judge[1].lanes))
            running += [pool.submit(grade, judge, case) for case in MIX * rounds]
        return [future.result() for future in running]


def grade(judge: Judge, case: Case) -> Graded:
    process, settings = judge
    client = JudgeClient(process.socket_path, settings)
    started = time.monotonic()
    report = client.evaluate(case.submission(), lambda phase: None)
    client.close()
    return case, time.monotonic() - started, report


def _summary(options: argparse.Namespace, gpus: int, graded: list[Graded], wall_s: float) -> dict[str, Any]:
    held_s: Counter[str] = Counter()
    for _, _, report in graded:
        held_s.update(report.environment["device_held_s"])
    return {
        "gpus": gpus,
        "lanes": options.lanes,
        "evaluations": len(graded),
        "wall_s": round(wall_s, 2),
        "evaluations_per_minute": round(60 * len(graded) / wall_s, 1),
        "device_held_frac": round(held_s.total() / wall_s / gpus, 3),
        "device_held_frac_by_purpose": {name: round(s / wall_s / gpus, 3) for name, s in held_s.most_common()},
        "cases": {case.task_id: _case([one for one in graded if one[0] == case]) for case in MIX},
    }


def _case(own: list[Graded]) -> dict[str, Any]:
    phases = {name for _, _, report in own for name in report.phases}
    return {
        "verdicts": sorted({str(report.verdict) for _, _, report in own}),
        "feedback": own[-1][2].feedback[:300],
        "median_s": round(statistics.median(seconds for _, seconds, _ in own), 3),
        "phases_s": {n: round(statistics.median(r.phases.get(n, 0.0) for _, _, r in own), 3) for n in sorted(phases)},
        "device_held_s": own[-1][2].environment["device_held_s"],
        "speedups": [round(report.timing.speedup, 4) for _, _, report in own if report.timing],
    }


def _print(record: dict[str, Any]) -> None:
    for task_id, case in record["cases"].items():
        print(f"{task_id:45} {case['median_s']:7.2f} s  {','.join(case['verdicts'])}  {case['phases_s']}")
        if case["verdicts"] != ["correct"]:
            print(f"    {case['feedback']}")
        else:
            print(f"    {case['speedups']} held {case['device_held_s']}")
    print(
        f"{record['evaluations']} evaluations in {record['wall_s']} s on {record['gpus']} x "
        f"{record['gpu'] or 'cpu'}, {record['lanes']} lanes each: {record['evaluations_per_minute']} a minute, "
        f"device held {record['device_held_frac']:.0%} of the time: "
        + ", ".join(f"{name} {share:.0%}" for name, share in record["device_held_frac_by_purpose"].items())
    )


if __name__ == "__main__":
    sys.exit(main())
