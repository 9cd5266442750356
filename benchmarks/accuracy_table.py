"""What the gradings of one case come to, whether that is inside the bounds, and the table of all cases."""

import statistics
from typing import Any

from benchmarks.sized_tasks import SizedTask
from evaluator.report import Report

LONG_MS = 0.1
# Calls of at least LONG_MS, and shorter ones: how far the median may lie from 1.00; single gradings twice that.
MEDIAN_FRAC = {"long": 0.005, "short": 0.02}
STD_FRAC = 0.005
CUPTI_FRAC = 0.02
GRADINGS_TO_JUDGE = 5
COLUMNS = ("t_ref ms", "t_new ms", "median", "std %", "worst %", "CUPTI %")


def row(task: SizedTask, kind: str, reports: list[Report], cupti_ms: float | None) -> dict[str, Any]:
    """The figures of one case; `holds` is None where too few gradings fitted into the time."""
    timings = [report.timing for report in reports if report.correct and report.timing]
    failed = [f"{report.verdict}: {report.feedback[:300]}" for report in reports if not report.correct]
    facts: dict[str, Any] = {"task": task.task_id, "kind": kind, "gradings": len(reports), "failed": failed}
    if not timings:
        return facts | {"holds": False if failed else None}
    ratios = [timing.speedup for timing in timings]
    middle = statistics.median(ratios)
    t_ref_ms = statistics.median(timing.t_ref_ms for timing in timings)
    t_new_ms = statistics.median(timing.t_new_ms for timing in timings)
    span = "long" if t_new_ms >= LONG_MS else "short"
    facts |= {
        "span": span,
        "t_ref_ms": t_ref_ms,
        "t_new_ms": t_new_ms,
        "speedup_median": middle,
        "speedup_std_frac": statistics.stdev(ratios) / middle if len(ratios) > 1 else None,
        "speedup_worst_frac": max(abs(ratio - (1 if kind == "A/A" else middle)) for ratio in ratios),
        "speedups": [round(ratio, 5) for ratio in ratios],
        "ci95": [[round(bound, 5) for bound in timing.speedup_ci95] for timing in timings],
        "pairs": [timing.pairs for timing in timings],
        "cupti_ms": cupti_ms,
        "cupti_off_frac": t_new_ms / cupti_ms - 1 if cupti_ms else None,
    }
    return facts | {"holds": not failed and holds(facts) if len(timings) >= GRADINGS_TO_JUDGE else None}


def holds(facts: dict[str, Any]) -> bool:
    """Whether one case is inside its bounds; CUPTI's time says nothing about a call whose launch takes as long."""
    if facts["kind"] == "A/A":
        allowed = MEDIAN_FRAC[facts["span"]]
        return bool(abs(facts["speedup_median"] - 1) <= allowed and facts["speedup_worst_frac"] <= 2 * allowed)
    steady = facts["span"] == "short" or facts["speedup_std_frac"] < STD_FRAC
    believed = facts["span"] == "short" or abs(facts["cupti_off_frac"] or 0.0) <= CUPTI_FRAC
    return bool(steady and believed)


def show(record: dict[str, Any]) -> None:
    print(f"{record['gpu'] or record['device']}, torch {record['torch']}, {record['date']}")
    print(f"{'case':38} {'n':>3}", *(f"{name:>9}" for name in COLUMNS))
    for case in record["cases"]:
        name = f"{case['kind']} {case['task'].partition('/')[2]}"
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "too few"}[case["holds"]]
        if "t_ref_ms" not in case:
            print(f"{name:38} {case['gradings']:3} {verdict} {' '.join(case['failed'][:1])}")
            continue
        std, off = (case[k] for k in ("speedup_std_frac", "cupti_off_frac"))
        print(
            f"{name:38} {case['gradings']:3} {case['t_ref_ms']:9.4f} {case['t_new_ms']:9.4f} "
            f"{case['speedup_median']:9.4f} {percent(std)} {percent(case['speedup_worst_frac'])} {percent(off)} "
            f"{verdict}{' ' + case['failed'][0] if case['failed'] else ''}"
        )


def percent(share: float | None) -> str:
    return "        -" if share is None else f"{share * 100:9.3f}"
