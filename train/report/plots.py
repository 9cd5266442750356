"""The plots of a report, each one SVG without a script.

Drawn by matplotlib: the best kept of those that draw on their own. plotly and Altair need megabytes of script, in the
page or from elsewhere; pygal's SVG refers to a script too.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from train.baseline_eval.summary import TaskSummary
from train.report.figures import NOT_GRADED, OUTCOMES, Figures, Pair, Span, tried

# a task, and its value before and after
Measured: TypeAlias = tuple[str, float | None, float | None]

WIDTH_IN = 8.4
TASKS_MAX = 40
BEFORE, AFTER = "#8a8f98", "#0b62a4"
# told apart without colour sight too (Okabe and Ito's palette, and greys)
COLOURS = ("#D55E00", "#E69F00", "#F0E442", "#CC79A7", "#56B4E9", "#0072B2", "#009E73", "#c9ccd1", "#000000", "#8a8f98")
# text stays text, and a dollar in it begins no formula; the same figures give the same file
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    "text.parse_math": False,
    "font.size": 9,
    "font.family": "sans-serif",
}


def draw(figures: Figures) -> dict[str, str]:
    """SVG by name: `reward`, `stages`, `speedup`, `roofline`, `tried`; without those that have nothing to show."""
    pairs = [] if figures.comparison is None else list(figures.comparison.tasks)
    with mpl.rc_context(STYLE):
        drawn = {
            "reward": _reward(figures),
            "stages": _stages(figures.spans or figures.held_out),
            "speedup": _dumbbells(
                _measured(pairs, lambda task: task.best_speedup), "best speedup over PyTorch", is_ratio=True
            ),
            "roofline": _dumbbells(
                _measured(pairs, lambda task: task.best_roofline_frac), "share of the roofline", is_ratio=False
            ),
            "tried": _tried(figures.spans or figures.held_out),
        }
        return {name: _svg(figure) for name, figure in drawn.items() if figure is not None}


def _reward(figures: Figures) -> Figure | None:
    graded = [span for span in figures.spans if span.reward_mean is not None]
    held_out = [span for span in figures.held_out if span.reward_mean is not None]
    if not graded and not held_out:
        return None
    figure, axes = _axes(2.8, "step", "reward of an episode's best turn")
    quartiles = [span for span in graded if span.reward_low is not None]
    if len(quartiles) > 1:
        low, high = [span.reward_low for span in quartiles], [span.reward_high for span in quartiles]
        axes.fill_between(_middles(quartiles), low, high, color=AFTER, alpha=0.15, lw=0, label="middle half")
    if graded:
        axes.plot(_middles(graded), [span.reward_mean for span in graded], ".-", color=AFTER, label="training, mean")
    if held_out:
        means = [span.reward_mean for span in held_out]
        axes.plot(_middles(held_out), means, "D--", color="#D55E00", label="evaluation, mean")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="upper left")
    return figure


def _stages(spans: Sequence[Span]) -> Figure | None:
    if not any(span.turns for span in spans):
        return None
    figure, axes = _axes(2.8, "step", "share of turns")
    _stack(axes, spans, [(name, [_share(span, span.outcomes.get(name, 0)) for span in spans]) for name in OUTCOMES])
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    return figure


def _tried(spans: Sequence[Span]) -> Figure | None:
    counted = [
        *((rule, [span.rules.get(rule, 0) for span in spans]) for rule in _most_tried(spans)),
        ("rejected timing", [span.rejected_timing for span in spans]),
        ("suspicious", [span.suspicious for span in spans]),
    ]
    shown = [(name, counts) for name, counts in counted if any(counts)]
    if not shown:
        return None
    figure, axes = _axes(2.8, "step", "per 100 turns")
    # a turn may break several rules: lines, since they do not add up
    for number, (name, counts) in enumerate(shown):
        shares = [100 * _share(span, count) for span, count in zip(spans, counts, strict=True)]
        colour, size = COLOURS[number % len(COLOURS)], max(3.0, 9.0 - 1.5 * number)  # the first show around the others
        axes.plot(_middles(spans), shares, "o-", color=colour, label=name, markersize=size, lw=size / 3)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _measured(pairs: Sequence[Pair], measure: Callable[[TaskSummary], float | None]) -> list[Measured]:
    def end(task: TaskSummary | None) -> float | None:
        return measure(task) if task else None

    return [(pair.task_id, end(pair.before), end(pair.after)) for pair in pairs]


def _dumbbells(measured: Sequence[Measured], label: str, *, is_ratio: bool) -> Figure | None:
    """A row for each task that has a value, before and after; where they are too many, the greatest changes."""
    found = [row for row in measured if row[1] is not None or row[2] is not None]
    if not found:
        return None
    largest = sorted(found, key=lambda row: -abs((row[2] or 0.0) - (row[1] or 0.0)))[:TASKS_MAX]
    rows = [row for row in found if row in largest][::-1]
    figure, axes = _axes(0.9 + 0.22 * len(rows), label, "")
    for at, (_, before, after) in enumerate(rows):
        if before is not None and after is not None:
            axes.plot([before, after], [at, at], color="#c9ccd1", lw=2, zorder=1)
    # before is larger, so that it shows around an after of the same value
    for name, column, colour, marker, size in (("before", 1, BEFORE, "o", 90), ("after", 2, AFTER, "D", 24)):
        points = [(row[column], at) for at, row in enumerate(rows) if row[column] is not None]
        if points:
            axes.scatter(*zip(*points, strict=True), color=colour, marker=marker, s=size, label=name, zorder=2)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    if is_ratio:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
        axes.axvline(1.0, color="black", lw=0.8, ls=":")
    else:
        axes.set_xlim(0, max(1.0, *(value for row in rows for value in row[1:] if value is not None)) * 1.02)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
    axes.grid(axis="x", color="#e6e8eb", lw=0.6)
    axes.set_axisbelow(True)
    if len(found) > len(rows):
        axes.set_title(f"the {len(rows)} of {len(found)} tasks that changed most", loc="left", fontsize=9)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    return figure


def _axes(height_in: float, x: str, y: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _stack(axes: Any, spans: Sequence[Span], series: Sequence[tuple[str, Sequence[float]]]) -> None:
    middles, bottom = _middles(spans), [0.0] * len(spans)
    widths = [0.9 * (span.last - span.first + 1) for span in spans]
    for number, (name, shares) in enumerate(series):
        if any(shares):
            colour = "#000000" if name == NOT_GRADED else COLOURS[number]
            axes.bar(middles, shares, widths, bottom=bottom, color=colour, label=name)
        bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)


def _most_tried(spans: Sequence[Span]) -> list[str]:
    totals: dict[str, int] = {}
    for span in spans:
        for rule, count in tried(span.rules).items():
            totals[rule] = totals.get(rule, 0) + count
    return sorted(totals, key=lambda rule: (-totals[rule], rule))[: len(COLOURS) - 2]


def _middles(spans: Sequence[Span]) -> list[float]:
    return [(span.first + span.last) / 2 for span in spans]


def _share(span: Span, count: int) -> float:
    return count / span.turns if span.turns else 0.0


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
