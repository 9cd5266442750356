"""A judge under bad luck: endless loops, aborts, lost processes. Nobody else's verdict changes, and nothing is left."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from evaluator.client import JudgeClient
from evaluator.errors import Cancelled, GraderFault
from evaluator.limits import Limits
from evaluator.verdicts import Verdict
from evaluator.wire import encode
from tests.evaluator.judge_support import KERNEL, RELU, ROOT, WarmJudge, edited
from tests.services.processes import alive

# the endless loops wait for the first; a right kernel's first call takes a fiftieth of it
SHORT = Limits(first_call_s=3.0, call_s=3.0, cpu_timing_s=0.05, timing_pairs_max=3)
PATIENCE_S = 30.0
LOOP = "while True: self.calls += 1"
FOREVER = edited(before=LOOP)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmJudge]:
    """A judge of this module, that may be killed; it grades two submissions beside each other."""
    made = WarmJudge(tmp_path_factory.mktemp("short"), limits=SHORT, lanes=2)
    yield made
    made.close()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.01)


class InBackground:
    """A grade in a thread, with what came of it."""

    def __init__(self, judge: WarmJudge, client: JudgeClient, code: str) -> None:
        self._judge, self._client, self._code = judge, client, code
        self.phases: list[str] = []
        self.outcome: object = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.outcome = self._client.evaluate(self._judge.submission(self._code), self.phases.append)
        except (Cancelled, GraderFault) as error:
            self.outcome = error

    def reached(self, phase: str) -> None:
        """Wait until the grade is in a phase, and its candidate in the middle of it."""
        wait_for(lambda: phase in self.phases, phase)

    def ended(self) -> object:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.outcome


def runners(judge: WarmJudge) -> list[psutil.Process]:
    """All processes below the judge's own children: what runs submissions, and the reference."""
    assert judge.process.pid is not None
    children = psutil.Process(judge.process.pid).children()
    return [process for child in children for process in child.children(recursive=True)]


def candidates(judge: WarmJudge) -> list[psutil.Process]:
    """Runners that use a processor: the trusted one waits while a candidate loops."""
    found = []
    for process in runners(judge):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if alive(process) and process.cpu_times().user > 0.2:
                found.append(process)
    return found


@pytest.mark.parametrize(
    ("code", "where"),
    [
        (edited(module="while True:\n    pass"), "import"),
        (edited(init=LOOP), "__init__"),
        (FOREVER, "forward"),
    ],
    ids=["import", "init", "forward"],
)
def test_an_endless_loop_costs_its_own_submission_alone(short: WarmJudge, code: str, where: str) -> None:
    report = short.grade(code)
    assert (report.verdict, report.feedback) == (Verdict.TIMEOUT, f"{where} did not return within 3 s")
    assert short.grade(KERNEL).verdict is Verdict.CORRECT


def test_abort_from_another_thread_kills_the_runner(short: WarmJudge) -> None:
    client = short.new_client()
    grade = InBackground(short, client, FOREVER)
    grade.reached("correctness")
    wait_for(lambda: len(candidates(short)) == 1, "the loop")
    (candidate,) = candidates(short)
    client.abort()
    assert isinstance(grade.ended(), Cancelled)
    gone, left = psutil.wait_procs([candidate], timeout=1.0)
    assert (len(gone), left) == (1, [])
    with pytest.raises(Cancelled):
        client.evaluate(short.submission(KERNEL), lambda phase: None)
    client.close()
    assert short.grade(KERNEL).verdict is Verdict.CORRECT


def test_a_closed_connection_ends_the_runner(short: WarmJudge) -> None:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(short.process.socket_path)
    sock.sendall(encode({"op": "grade", "submission": short.submission(FOREVER).to_json()}))
    wait_for(lambda: len(candidates(short)) == 1, "the loop")
    (candidate,) = candidates(short)
    sock.close()
    psutil.wait_procs([candidate], timeout=1.0)
    assert not alive(candidate)
    assert short.grade(KERNEL).verdict is Verdict.CORRECT


def test_a_lost_zygote_is_replaced(short: WarmJudge) -> None:
    short.grade(KERNEL)
    assert short.process.pid is not None
    (zygote,) = [
        child for child in psutil.Process(short.process.pid).children() if "evaluator.runner.zygote" in child.cmdline()
    ]
    family = [zygote, *zygote.children(recursive=True)]
    zygote.kill()
    wait_for(lambda: not any(map(alive, family)), "the end of its runners")
    assert short.grade(KERNEL).verdict is Verdict.CORRECT


def test_a_lost_judge_is_our_fault_and_takes_everything_along(short: WarmJudge) -> None:
    grade = InBackground(short, short.client, FOREVER)
    grade.reached("correctness")
    wait_for(lambda: len(candidates(short)) == 1, "the loop")
    assert short.process.pid is not None
    judge = psutil.Process(short.process.pid)
    family = judge.children(recursive=True)
    os.kill(judge.pid, signal.SIGKILL)
    fault = grade.ended()
    assert isinstance(fault, GraderFault)
    assert (fault.code, fault.retryable) == ("judge_lost", True)
    wait_for(lambda: not any(map(alive, family)), "the end of zygote and runners")
    assert not short.process.alive()
    short.process.start()
    assert short.process.alive()
    assert short.grade(KERNEL).verdict is Verdict.CORRECT


def test_two_lanes_do_not_mix_up_what_they_grade(short: WarmJudge) -> None:
    """Faulty and right ones beside each other, on one task and on two."""
    softmax = (ROOT / "benchmarks/kernels/triton/softmax.py").read_text()
    crash = edited(module="getattr(os, '_ex' + 'it')(7)")
    work = [
        (KERNEL, RELU, Verdict.CORRECT),
        (edited(result="y.zero_()"), RELU, Verdict.INCORRECT),
        (softmax, "level1/23_Softmax", Verdict.CORRECT),
        (crash, RELU, Verdict.RUNTIME_ERROR),
        (KERNEL, RELU, Verdict.CORRECT),
        (edited(before="raise OSError"), RELU, Verdict.RUNTIME_ERROR),
        (edited(result="torch.relu(x)"), RELU, Verdict.FORMAT_VIOLATION),
        (KERNEL, RELU, Verdict.CORRECT),
    ]

    def grade(item: tuple[str, str, Verdict]) -> Verdict:
        client = short.new_client()
        try:
            return client.evaluate(short.submission(item[0], item[1]), lambda phase: None).verdict
        finally:
            client.close()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(grade, work)) == [verdict for _, _, verdict in work]


def test_nonsense_on_the_socket_disturbs_nobody(short: WarmJudge) -> None:
    for data in (b"\xff" * 64, b"\x00\x00\x00\x02[]", encode({}), encode({"op": "grade"}), encode({"op": []})):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(short.process.socket_path)
            sock.sendall(data)
    assert short.grade(KERNEL).verdict is Verdict.CORRECT
    assert short.client.describe()["device"] == "cpu"


@pytest.mark.parametrize("task_id", ["level1/999_Nothing", "../../etc/passwd", "level1/19_ReLU/..", ""])
def test_an_unknown_task_is_no_verdict(short: WarmJudge, task_id: str) -> None:
    with pytest.raises(GraderFault) as caught:
        short.grade(KERNEL, task_id)
    assert (caught.value.code, caught.value.retryable) == ("unknown_task", False)


def test_a_broken_task_is_no_verdict(short: WarmJudge) -> None:
    folder = Path(short.config.tasks_dir)
    good = (folder / f"{RELU}.py").read_text()
    (folder / "level1" / "900_Broken.py").write_text(good.replace("def get_inputs():", "def get_inputs():\n    1 / 0"))
    with pytest.raises(GraderFault) as caught:
        short.grade(KERNEL, "level1/900_Broken")
    assert caught.value.code in ("broken_task", "unknown_task")


def test_nothing_is_left_after_all_of_this(short: WarmJudge) -> None:
    assert short.process.pid is not None
    judge = psutil.Process(short.process.pid)
    short.grade(KERNEL)
    before = judge.num_fds()
    for code in (KERNEL, edited(before="raise OSError"), edited(module="getattr(os, '_ex' + 'it')(7)"), "syntax ("):
        short.grade(code)
    wait_for(lambda: judge.num_fds() <= before, "descriptors to be closed")  # the answer comes before that
    assert candidates(short) == []


def test_a_wall_that_cannot_stand_is_no_verdict(tmp_path: Path) -> None:
    made = WarmJudge(tmp_path, require_isolation=("a moat with crocodiles",))
    try:
        with pytest.raises(GraderFault) as caught:
            made.grade(KERNEL)
    finally:
        made.close()
    assert (caught.value.code, caught.value.retryable) == ("isolation_missing", False)
    assert "a moat with crocodiles" in caught.value.detail


def test_without_a_judge_there_is_no_verdict(tmp_path: Path, judge: WarmJudge) -> None:
    client = JudgeClient(str(tmp_path / "nobody.sock"), judge.config)
    for ask in (client.describe, lambda: client.evaluate(judge.submission(KERNEL), lambda phase: None)):
        with pytest.raises(GraderFault) as caught:
            ask()
        assert (caught.value.code, caught.value.retryable) == ("judge_lost", True)
    client.close()


def command(tasks_dir: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "evaluator", *arguments, "--tasks-dir", tasks_dir]
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)


def test_command_line_of_right_wrong_and_neither(short: WarmJudge, tmp_path: Path) -> None:
    files = {"right": KERNEL, "wrong": "def f(:\n"}
    for name, code in files.items():
        (tmp_path / f"{name}.py").write_text(code)
    calls = [(RELU, "right", "--reward", "roofline"), (RELU, "wrong"), ("level1/999_No", "right")]
    with ThreadPoolExecutor(len(calls)) as pool:
        right, wrong, neither = pool.map(
            lambda call: command(short.config.tasks_dir, call[0], str(tmp_path / f"{call[1]}.py"), *call[2:]), calls
        )
    assert right.returncode == 0, right.stderr
    printed = json.loads(right.stdout)
    assert (printed["verdict"], printed["stage"], printed["result"]["correct"]) == ("correct", "ok", True)
    assert printed["reward"] >= 0.1
    assert right.stderr.split()[:2] == ["...", "format"]
    assert (wrong.returncode, json.loads(wrong.stdout)["verdict"]) == (1, "format_violation")
    assert (neither.returncode, neither.stdout) == (2, "")
    assert "unknown_task" in neither.stderr


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_command_line_without_a_file_is_no_verdict(tmp_path: Path, name: str) -> None:
    done = command(str(ROOT / "kernelbench_tasks"), RELU, str(tmp_path / name))
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_the_callers_side_loads_no_torch() -> None:
    code = (
        "import sys; import evaluator.client, evaluator.mock, evaluator.config, evaluator.reward; "
        "print([name for name in ('torch', 'triton', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
