"""`kernel-grader bench`: how many submissions a server takes in a second, and how soon answers come."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from kernel_grader_client.aio import AsyncKernelGrader
from kernel_grader_client.cli.context import connection
from kernel_grader_client.items import Item

SOURCE = """import torch, triton
import triton.language as tl

# mock: correct speedup=1.0

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, tl.maximum(x, 0), mask=offsets < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
BATCH = 128
PROBE_S = 0.1


@dataclass
class Phase:
    """What one part of the test came to. Times in milliseconds."""

    name: str
    count: int
    per_second: float
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass
class Report:
    """Everything that was measured."""

    phases: list[Phase] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)


def bench(
    context: typer.Context,
    submissions: Annotated[int, typer.Option(min=1, help="How many, in each part.")] = 200,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Requests at once.")] = 32,
    task: Annotated[str, typer.Option(help="What they are for.")] = "level1/19_ReLU",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also where real kernels are graded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Load a server with single submissions, batches and waits. All of it is one run, cancelled at the end."""
    report = asyncio.run(_bench(connection(context).open_async(), submissions, concurrency, task, anyway))
    if as_json:
        typer.echo(json.dumps(asdict(report), indent=1))
    else:
        _show(report)


async def _bench(grader: AsyncKernelGrader, count: int, concurrency: int, task: str, anyway: bool) -> Report:
    run_id = f"bench-{uuid.uuid4().hex[:12]}"
    async with grader:
        evaluator = (await grader.meta()).evaluator
        if evaluator != "mock" and not anyway:
            raise typer.BadParameter(f"the server grades for real (evaluator {evaluator}): --anyway, to load it")
        probing = asyncio.create_task(_probe(grader))
        try:
            report = await _load(grader, run_id, count, concurrency, task)
        finally:
            probing.cancel()
            await grader.cancel_run(run_id)
        report.phases.append(_phase("health checks meanwhile", await _collected(probing), 0.0))
        return report


async def _load(grader: AsyncKernelGrader, run_id: str, count: int, concurrency: int, task: str) -> Report:
    report, ids = Report(), []

    async def submit(number: int) -> None:
        ids.append((await grader.submit(_source(run_id, number), task_id=task, run_id=run_id)).id)

    async def wait(number: int) -> None:
        ended = await grader.wait(ids[number])
        report.ended[ended.verdict or ended.status] = report.ended.get(ended.verdict or ended.status, 0) + 1

    report.phases.append(await _timed("single submissions", count, concurrency, submit))
    report.phases.append(await _timed("waits for their ends", count, count, wait))
    items = [Item(str(n), _source(run_id, count + n), task_id=task, run_id=run_id) for n in range(count)]
    chunks = [items[start : start + BATCH] for start in range(0, count, BATCH)]
    batches: list[str] = []

    async def batch(number: int) -> None:
        batches.append(await grader.create_batch(chunks[number], run_id))

    phase = await _timed(f"batches of up to {BATCH}", len(chunks), 4, batch)
    phase.per_second *= count / len(chunks)
    report.phases.append(phase)
    return report


async def _timed(name: str, count: int, concurrency: int, act: Callable[[int], Awaitable[None]]) -> Phase:
    """Do it for 0 to count - 1, so many at once."""
    places, spans_s = asyncio.Semaphore(concurrency), []

    async def one(number: int) -> None:
        async with places:
            started = time.perf_counter()
            await act(number)
            spans_s.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(count)))
    return _phase(name, spans_s, time.perf_counter() - started)


async def _probe(grader: AsyncKernelGrader) -> list[float]:
    """How long `/healthz` takes, until cancelled."""
    spans_s: list[float] = []
    try:
        while True:
            started = time.perf_counter()
            await grader.alive()
            spans_s.append(time.perf_counter() - started)
            await asyncio.sleep(PROBE_S)
    except asyncio.CancelledError:
        return spans_s


async def _collected(task: asyncio.Task[list[float]]) -> list[float]:
    return await task


def _phase(name: str, spans_s: list[float], total_s: float) -> Phase:
    spans_ms = sorted(1000 * span for span in spans_s) or [0.0]

    def quantile(share: float) -> float:
        return round(spans_ms[min(int(share * len(spans_ms)), len(spans_ms) - 1)], 2)

    per_second = len(spans_s) / total_s if total_s else 0.0
    return Phase(name, len(spans_s), per_second, quantile(0.5), quantile(0.99), round(spans_ms[-1], 2))


def _source(run_id: str, number: int) -> str:
    return f"{SOURCE}\n# {run_id} {number}\n"


def _show(report: Report) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("", "count", "a second", "p50 ms", "p99 ms", "max ms"):
        table.add_column(column, justify="left" if not column else "right")
    for phase in report.phases:
        numbers: list[Any] = [phase.count, f"{phase.per_second:.0f}" if phase.per_second else ""]
        table.add_row(phase.name, *map(str, [*numbers, phase.p50_ms, phase.p99_ms, phase.max_ms]))
    console = Console(highlight=False)
    console.print(table)
    console.print("ended: " + ", ".join(f"{count} {what}" for what, count in sorted(report.ended.items())))
