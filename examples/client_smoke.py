"""Plays the client against a server: `python examples/client_smoke.py [URL]`; exits with 0 if all is as it should be.

Sends three kernels in one batch, then an episode of two turns, and checks what comes back. Takes a second with the mock
evaluator (which makes verdicts up, so that only their presence is checked), and some ten on the CPU.
"""

import sys
from pathlib import Path

from kernel_grader_client import Item, KernelGrader

HERE = Path(__file__).parent
TASK = "level1/19_ReLU"
EXPECTED = {"relu.py": "correct", "relu_identity.py": "incorrect", "relu_syntax_error.py": "format_violation"}


def main(url: str | None = None) -> int:
    """How many things were not as they should be."""
    wrong = 0

    def check(what: str, holds: bool) -> None:
        nonlocal wrong
        wrong += not holds
        print(f"{'ok   ' if holds else 'WRONG'}  {what}")

    with KernelGrader(url) as grader:
        items = [Item(name, (HERE / name).read_text(), task_id=TASK) for name in EXPECTED]
        for ended in grader.submit_many(items, run_id="smoke"):
            graded = ended.require_verdict()
            made_up = bool((graded.environment or {}).get("mock"))
            check(
                f"{ended.custom_id}: {graded.verdict}, reward {graded.reward}",
                graded.verdict == EXPECTED[ended.custom_id] or (made_up and graded.graded),
            )
            check(f"{ended.custom_id}: feedback", bool(graded.feedback) or graded.correct)
        episode = grader.episode(TASK, max_turns=2, run_id="smoke")
        check("an episode has a prompt", "ModelNew" in episode.problem)
        for name in ("relu_syntax_error.py", "relu_identity.py"):
            episode.step((HERE / name).read_text())
        check("two verdicts end an episode of two turns", episode.done and len(episode.state.history) == 2)
        check("a syntax error is worth 0", episode.state.history[0].reward == 0)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:2]) else 0)
