"""`python -m evaluator TASK FILE`: grade one file on one task and print the report as JSON."""

import argparse
import json
import secrets
import sys
import tempfile
from pathlib import Path

from evaluator.client import JudgeClient, JudgeProcess
from evaluator.config import EVALUATOR_KINDS, EvaluatorConfig
from evaluator.errors import GraderFault
from evaluator.reward import REWARD_MODES, reward
from evaluator.submission import LANGUAGES, Submission


def main() -> int:
    """Exit code 0 for a correct kernel, 1 for any other verdict, 2 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m evaluator", description=__doc__)
    parser.add_argument("task", help="such as level1/19_ReLU")
    parser.add_argument("file", type=Path, help="a Python source that defines ModelNew")
    parser.add_argument("--tasks-dir", default=str(Path(__file__).parent.parent / "kernelbench_tasks"))
    parser.add_argument("--evaluator", choices=[kind for kind in EVALUATOR_KINDS if kind != "mock"], default="cpu")
    parser.add_argument("--gpu", type=int, default=0, help="index of the GPU")
    parser.add_argument("--language", choices=LANGUAGES, default="triton")
    parser.add_argument("--reward", choices=REWARD_MODES, default="speedup")
    parser.add_argument("--repeat", type=int, default=1, help="grade the file that often in one warm judge")
    options = parser.parse_args()
    try:
        options.code = options.file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{options.file}: {error}")
    with tempfile.TemporaryDirectory(prefix="evaluator-") as state_dir:
        config = EvaluatorConfig(
            kind=options.evaluator, tasks_dir=options.tasks_dir, state_dir=state_dir, gpu_index=options.gpu
        )
        judge = JudgeProcess(config)
        judge.start()
        try:
            return _grade(JudgeClient(judge.socket_path, config), options)
        except GraderFault as fault:
            print(f"no verdict: {fault}", file=sys.stderr)
            return 2
        finally:
            judge.close()


def _grade(client: JudgeClient, options: argparse.Namespace) -> int:
    for number in range(options.repeat):
        key = secrets.token_hex(32)
        submission = Submission(f"local-{number}", options.task, options.code, options.language, key)
        report = client.evaluate(submission, lambda name: print(f"... {name}", file=sys.stderr))
        result = report.result()
        paid = reward(
            report.verdict, speedup=result["speedup"], roofline_frac=report.roofline_frac, mode=options.reward
        )
        summary = {"verdict": str(report.verdict), "stage": str(report.stage), "reward": paid, "result": result}
        print(json.dumps({**summary, "phases": report.phases, "environment": report.environment}, indent=2))
    return 0 if report.correct else 1


if __name__ == "__main__":
    sys.exit(main())
