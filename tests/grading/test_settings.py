"""Settings: defaults, names, and the sentence that a wrong one stops the start with."""

from pathlib import Path

import pytest

from grading.celery_app import make_celery
from grading.secret import server_secret
from grading.settings import SettingsError, load


def test_defaults_need_nothing() -> None:
    settings = load({})
    assert settings.database_url.startswith("sqlite:////")
    assert settings.database_url.endswith("/.data/kernel-grader.db")
    assert settings.gpus == (0,)
    assert settings.max_turns == 4
    assert settings.max_sessions == 64
    assert settings.reward == "speedup"
    assert settings.limits.roofline_reject_frac == 0.8


def test_an_empty_variable_is_an_unset_one() -> None:
    assert load({"PORT": "", "KERNEL_ENV_GPUS": " "}) == load({})


def test_names_that_scripts_know(tmp_path: Path) -> None:
    settings = load(
        {
            "KERNEL_ENV_GPUS": "0,3",
            "KERNEL_ENV_EVALUATOR": "mock",
            "KERNEL_ENV_MAX_TURNS": "7",
            "KERNEL_ENV_MAX_SESSIONS": "9",
            "KERNEL_ENV_EVAL_LOG": str(tmp_path / "log"),
            "KERNEL_ENV_REWARD": "roofline",
            "KERNEL_ENV_ROOFLINE_REJECT": "0.5",
            "KERNEL_ENV_PARTIAL_CREDIT": "1",
            "KERNELBENCH_DIR": str(tmp_path),
            "DATABASE_URL": "postgres://somewhere/db",
            "KERNEL_ENV_RUN_S": "10",
        }
    )
    assert settings.gpus == (0, 3)
    assert settings.partial_credit
    assert settings.database_url == "postgresql+psycopg://somewhere/db"
    config = settings.evaluator_config(3)
    assert (config.kind, config.gpu_index, config.tasks_dir) == ("mock", 3, str(tmp_path))
    assert (config.limits.roofline_reject_frac, config.limits.run_s) == (0.5, 10.0)


@pytest.mark.parametrize(("evaluator", "lanes"), [("gpu", 3), ("cpu", 1), ("mock", 1)])
def test_lanes_by_evaluator(evaluator: str, lanes: int) -> None:
    settings = load({"KERNEL_ENV_EVALUATOR": evaluator})
    assert settings.lanes == settings.evaluator_config().lanes == lanes
    app = make_celery(load({"KERNEL_ENV_EVALUATOR": evaluator, "KERNEL_ENV_LANES": "4"}))
    assert app.conf.worker_concurrency == 4
    four_runs_s = 4 * settings.limits.run_s
    assert four_runs_s < app.conf.task_soft_time_limit < app.conf.task_time_limit, "a grade may wait for three others"


@pytest.mark.parametrize(("cores", "builders"), [(1, 1), (2, 1), (16, 4), (128, 8), (None, 1)])
def test_builders_by_cores(cores: int | None, builders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert load({"KERNEL_ENV_EVALUATOR": "gpu"}).builders == builders
    assert load({"KERNEL_ENV_EVALUATOR": "mock"}).builders == 0


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("PORT", "http", "a whole number from 0 to 65535"),
        ("PORT", "70000", "a whole number from 0 to 65535"),
        ("KERNEL_ENV_GPUS", "0,0", "a comma list of different whole numbers"),
        ("KERNEL_ENV_GPUS", "all", "a comma list of different whole numbers"),
        ("KERNEL_ENV_EVALUATOR", "tpu", "one of gpu, cpu, mock"),
        ("KERNEL_ENV_REWARD", "fast", "one of speedup, roofline"),
        ("KERNEL_ENV_PARTIAL_CREDIT", "maybe", "0 or 1"),
        ("KERNEL_ENV_RUN_S", "nan", "a number from"),
        ("KERNEL_ENV_CORRECTNESS_TRIALS", "0", "a whole number from 1"),
        ("KERNEL_ENV_RENEW_S", "29", "at most half of KERNEL_ENV_LEASE_S"),
        ("KERNEL_ENV_REQUIRE_ISOLATION", "seccomp,netwrok", "a comma list of descriptors, death_signal,"),
        ("KERNEL_ENV_BUILDERS", "-1", "a whole number from 0 to 64"),
        ("DATABASE_URL", "mysql://x", "a URL that starts with postgresql://"),
        ("REDIS_URL", "amqp://x", "a URL that starts with redis://"),
    ],
)
def test_a_wrong_value_is_one_sentence(name: str, value: str, takes: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({name: value})
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} takes {takes}")
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_the_secret_is_made_once_and_kept_private(tmp_path: Path) -> None:
    settings = load({"KERNEL_ENV_DATA_DIR": str(tmp_path)})
    first = server_secret(settings)
    assert server_secret(settings) == first
    assert len(first) == 64
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_given_secret_is_taken_and_not_shown(tmp_path: Path) -> None:
    settings = load({"KERNEL_ENV_DATA_DIR": str(tmp_path), "KERNEL_ENV_SECRET": "sixteen letters!"})
    assert server_secret(settings) == b"sixteen letters!"
    assert "sixteen" not in repr(settings)
    with pytest.raises(SettingsError):
        server_secret(load({"KERNEL_ENV_SECRET": "short"}))
