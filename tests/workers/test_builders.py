"""Real builders beside real graders: sources pass through them once, whatever dies, freezes or is cancelled."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import delete, select

from evaluator.build.toolchain import toolchain
from grading import jobs
from grading.events import Publisher
from grading.migrate import upgrade
from grading.models import Attempt, BuildProduct, Episode
from grading.states import AttemptEnd, SubmissionStatus
from tests.services.broker import Broker
from tests.services.installation import PROJECT, UNDER_WAY, Installation, cuda_source, installation, source, wait_for
from tests.services.processes import alive

needs_nvcc = pytest.mark.skipif(toolchain().nvcc is None, reason="no nvcc")


def attempts(installed: Installation, submission_id: str) -> list[tuple[int, str, AttemptEnd | None]]:
    with installed.db.read() as session:
        found = select(Attempt).where(Attempt.submission_id == submission_id).order_by(Attempt.fence)
        return [(each.number, each.kind, each.outcome) for each in session.scalars(found)]


def submit(installed: Installation, directive: str = "correct speedup=4.0", salt: object = "", **more: object) -> str:
    return installed.submit(cuda_source(directive, salt), language="cuda", **more).id


def wait_building(installed: Installation, submission_id: str) -> None:
    wait_for(
        lambda: (installed.row(submission_id).status, installed.row(submission_id).phase) == ("compiling", "build"),
        30,
        "the build to be under way",
        lambda: "\n".join(process.tail() for process in installed.processes),
    )


def test_built_once_then_graded(installed: Installation) -> None:
    installed.start_worker()
    installed.start_builder()
    taken = submit(installed, "correct speedup=4.0 build_s=0.2")
    (ended,) = installed.wait_ended([taken])
    assert (ended.verdict, ended.reward, ended.attempt) == ("correct", 2.3, 1)
    assert attempts(installed, taken) == [(1, "build", AttemptEnd.BUILT), (1, "grade", AttemptEnd.VERDICT)]
    assert ended.phases.keys() == {"format", "build", "correctness", "timing"}, "nothing was compiled twice"
    assert ended.slot_id == "mock-testhost-0"


def test_a_source_that_cannot_be_built_ends_at_the_builder(installed: Installation) -> None:
    """There is no grader at all."""
    installed.start_builder()
    episode_id = jobs.create_episode(installed.db, jobs.NewEpisode(PROJECT, "level1/19_ReLU", "do it", 3)).row.id
    broken = submit(installed, "compile_error", episode_id=episode_id)
    (ended,) = installed.wait_ended([broken])
    assert (ended.verdict, ended.stage, ended.reward) == ("compile_error", "compile", 0.0)
    refused = installed.submit("import torch", language="cuda", episode_id=episode_id).id
    (ended,) = installed.wait_ended([refused])
    assert (ended.verdict, ended.slot_id) == ("format_violation", "builder-testhost-0")
    with installed.db.read() as session:
        assert session.get_one(Episode, episode_id).turns_used == 2


def test_a_mixed_queue(installed: Installation) -> None:
    for number in range(2):
        installed.start_worker(number)
        installed.start_builder(number)
    rows = [installed.submit(source("correct eval_s=0.1", n)).id for n in range(10)]
    rows += [submit(installed, "correct eval_s=0.1", n) for n in range(10)]
    rows += [submit(installed, "compile_error", f"bad {n}") for n in range(3)]
    ended = installed.wait_ended(rows)
    assert [row.verdict for row in ended] == ["correct"] * 20 + ["compile_error"] * 3
    assert all(row.attempt == 1 for row in ended)
    with installed.db.read() as session:
        done = session.scalars(select(Attempt)).all()
    assert {each.slot_id[:4] for each in done if each.kind == "build"} == {"buil"}
    assert len(done) == 10 + 2 * 10 + 3


def test_without_a_builder_the_graders_build(installed: Installation) -> None:
    installed.start_worker()
    taken = submit(installed)
    (ended,) = installed.wait_ended([taken])
    assert (ended.verdict, attempts(installed, taken)) == ("correct", [(1, "grade", AttemptEnd.VERDICT)])
    assert "compile" in ended.phases


def test_a_builder_that_cannot_compile_takes_nothing(installed: Installation) -> None:
    folder = Path(installed.settings.evaluator_config().state_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mock-builder.sick").touch()
    installed.start_builder(ready=False).wait_logged("slot_sick")
    installed.start_worker()
    (ended,) = installed.wait_ended([submit(installed)])
    assert ended.verdict == "correct"
    (folder / "mock-builder.sick").unlink()


def test_a_product_that_was_forgotten_is_built_again(installed: Installation, tmp_path: Path) -> None:
    installed.start_builder()
    taken = submit(installed)
    wait_for(lambda: installed.row(taken).status == "ready", 30, "the build")
    with installed.db.write() as session:
        session.execute(delete(BuildProduct))
    installed.start_worker(KERNEL_ENV_DATA_DIR=str(tmp_path / "another host"))
    (ended,) = installed.wait_ended([taken])
    assert ended.verdict == "correct"
    assert "compile" in ended.phases


def test_a_worker_of_another_host_fetches_products_and_keeps_few(installed: Installation, tmp_path: Path) -> None:
    host = tmp_path / "another host"
    installed.start_builder()
    installed.start_worker(KERNEL_ENV_DATA_DIR=str(host), KERNEL_ENV_BUILD_CACHE_BYTES="1500")
    for number in range(2):
        (ended,) = installed.wait_ended([submit(installed, salt=number)])
        assert ended.verdict == "correct"
        assert "compile" not in ended.phases
    assert len(list(host.glob("evaluator/extensions/artifacts/*/*/*.so"))) == 1


def test_a_builder_killed_in_the_middle(installed: Installation) -> None:
    builder = installed.start_builder()
    installed.start_reaper()
    installed.start_worker()
    taken = submit(installed, "correct build_s=3")
    wait_building(installed, taken)
    builder.kill()
    installed.start_builder(1)
    (ended,) = installed.wait_ended([taken])
    assert (ended.verdict, ended.attempt, ended.losses) == ("correct", 2, 1)
    done = attempts(installed, taken)
    assert done[0] == (1, "build", AttemptEnd.LOST)
    assert done[-1] == (2, "grade", AttemptEnd.VERDICT)


def test_a_frozen_builder_that_wakes_up_hands_nothing_on(installed: Installation) -> None:
    frozen = installed.start_builder()
    installed.start_reaper()
    installed.start_worker()
    taken = submit(installed, "correct build_s=2")
    wait_building(installed, taken)
    frozen.freeze()
    (ended,) = installed.wait_ended([taken])
    frozen.thaw()
    wait_for(lambda: "build_dropped" in frozen.log.read_text(), 30, "the frozen builder to give up", frozen.tail)
    assert installed.row(taken).fence == ended.fence
    assert attempts(installed, taken) == [(1, "build", AttemptEnd.LOST), (2, "grade", AttemptEnd.VERDICT)]


def test_a_terminated_builder_hands_back_at_no_cost(installed: Installation) -> None:
    builder = installed.start_builder()
    taken = submit(installed, "correct build_s=500")
    wait_building(installed, taken)
    builder.terminate()
    back = installed.row(taken)
    assert (back.status, back.losses) == (SubmissionStatus.QUEUED, 0), builder.tail()
    assert attempts(installed, taken) == [(1, "build", AttemptEnd.HANDED_BACK)]


def test_a_grader_lost_after_the_build(installed: Installation) -> None:
    installed.start_builder()
    worker = installed.start_worker()
    installed.start_reaper()
    taken = submit(installed, "correct eval_s=3 build_s=0.1")
    wait_for(lambda: installed.row(taken).phase in UNDER_WAY, 30, "the grade to be under way")
    worker.kill()
    wait_for(lambda: installed.row(taken).status == "ready", 30, "the row to wait for a grader")
    installed.start_worker(1)
    (ended,) = installed.wait_ended([taken])
    assert (ended.verdict, ended.attempt) == ("correct", 2)
    assert [kind for _, kind, _ in attempts(installed, taken)] == ["build", "grade", "grade"]


@pytest.fixture
def on_cpu(broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    """An installation whose builder is a real one."""
    url = f"sqlite:///{tmp_path / 'cpu.db'}"
    with installation(url, broker, tmp_path, KERNEL_ENV_EVALUATOR="cpu", KERNEL_ENV_LEASE_S="30") as made:
        upgrade(made.db)
        yield made


@needs_nvcc
def test_real_builds(on_cpu: Installation) -> None:
    on_cpu.start_builder()
    broken = on_cpu.submit(cuda_source().replace("y[i] = x[i]", "y[i] = nothing"), language="cuda")
    (ended,) = on_cpu.wait_ended([broken.id], 120)
    assert ended.verdict == "compile_error", ended.error_detail
    assert "nothing" in ended.result["feedback"]
    good = on_cpu.submit(cuda_source(), language="cuda")
    wait_for(lambda: on_cpu.row(good.id).status == "ready", 120, "the build", on_cpu.processes[0].tail)
    made = on_cpu.row(good.id).builds
    assert made is not None
    (each,) = made["prebuilt"]
    assert each["architecture"] == "9.0"
    content = jobs.load_product(on_cpu.db, each["products"][0]["sha256"])
    assert content is not None
    assert content.startswith(b"\x7fELF")
    on_cpu.start_worker()
    (ended,) = on_cpu.wait_ended([good.id], 120)
    assert (ended.status, ended.error_code) == ("failed", "compiled_not_run"), "it takes a GPU to go on"


@needs_nvcc
def test_cancelling_kills_the_compiler(on_cpu: Installation) -> None:
    builder = on_cpu.start_builder()
    long = " + ".join(f"tanhf(x[i] + {n})" for n in range(3000))
    taken = on_cpu.submit(cuda_source().replace("x[i] > 0 ? x[i] : 0", long), language="cuda")
    names = ("cicc", "ptxas", "cudafe++", "cc1plus")
    wait_for(lambda: any(child.name() in names for child in children(builder.pid)), 60, "a compiler", builder.tail)
    family = [child for child in children(builder.pid) if child.name() in names]
    cancelled = jobs.cancel_submission(on_cpu.db, PROJECT, taken.id)
    started = time.monotonic()
    Publisher(on_cpu.settings.redis_url).cancelled(cancelled)
    wait_for(lambda: not any(map(alive, family)), 10, "the compilers to be gone", builder.tail)
    print(f"gone after {time.monotonic() - started:.2f} s")
    assert attempts(on_cpu, taken.id) == [(1, "build", AttemptEnd.CANCELLED)]
    wait_for(
        lambda: not any(is_build(child) for child in children(builder.pid)), 10, "the build's own end", builder.tail
    )


def children(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children(recursive=True) if alive(child)]


def is_build(process: psutil.Process) -> bool:
    try:
        return "evaluator.build" in process.cmdline()
    except psutil.NoSuchProcess:
        return False
