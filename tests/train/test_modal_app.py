"""The Modal app as `modal deploy` hands it in, and what its containers would run. No account is used."""

import json
import os
import site
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launcher.commands import REPOSITORY
from launcher.ports import free_port
from tests.openenv.environments import NotInstallable, installed
from tests.services.installation import source

HERE = Path(__file__).parent
APP = REPOSITORY / "modal_app.py"
# the first test may have to install modal
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def python() -> str:
    """An interpreter with modal."""
    try:
        return str(installed(REPOSITORY / "requirements" / "modal.txt"))
    except NotInstallable as error:
        pytest.skip(f"modal cannot be installed here: {error}")


class Told:
    """What Modal was told by one deployment."""

    def __init__(self, python: str, reference: str, **environ: str) -> None:
        command = [python, str(HERE / "modal_service.py"), str(free_port()), reference]
        done = subprocess.run(
            command, cwd=REPOSITORY, env={**os.environ, **environ}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["status"] == 0, found["output"]
        self._told: list[tuple[str, dict[str, Any]]] = found["told"]

    def all(self, name: str) -> list[dict[str, Any]]:
        return [request for told, request in self._told if told == name]

    def function(self, name: str) -> dict[str, Any]:
        """A function's definition; of one with several choices of GPU, the first."""
        found = [request["answered"]["function"] for request in self.all("FunctionCreate")]
        return next(function for function in found if function["function_name"].partition(".")[0] == name)

    def _by_id(self, request: str, field: str) -> dict[str, dict[str, Any]]:
        return {told["answered"][field]: told for told in self.all(request)}

    def secrets(self, name: str) -> tuple[set[str], dict[str, str]]:
        """(names of the secrets that it is given, the plain settings)."""
        secrets = self._by_id("SecretGetOrCreate", "secret_id")
        given = [secrets[each] for each in self.function(name)["secret_ids"]]
        named = {each["deployment_name"] for each in given if "deployment_name" in each}
        return named, {name: value for each in given for name, value in each.get("env_dict", {}).items()}

    def image(self, name: str) -> list[str]:
        """The lines that its image is built by, from the first."""
        images = self._by_id("ImageGetOrCreate", "image_id")
        lines: list[str] = []
        image_id = self.function(name)["image_id"]
        while image_id:
            image = images[image_id]["image"]
            lines = [*image["dockerfile_commands"], *lines]
            image_id = next((base["image_id"] for base in image.get("base_images", ())), "")
        return lines

    def files(self) -> set[str]:
        """Everything that is uploaded, by its path in a container."""
        return {file["filename"] for told in self.all("MountGetOrCreate") for file in told.get("files", ())}


@pytest.fixture(scope="module")
def told(python: str) -> Told:
    """Of the server on one GPU."""
    return Told(python, str(APP), KERNEL_GRADER_MODAL_GPU="L4")


def test_one_server_on_one_gpu(told: Told) -> None:
    server = told.function("Server")
    assert told.all("AppPublish")[0]["name"] == "kernel-grader"
    assert server["resources"]["gpu_config"] == {"count": 1, "gpu_type": "L4"}
    assert server["autoscaler_settings"]["max_containers"] == 1
    assert (server["http_config"]["port"], server["http_config"]["unauthenticated"]) == (8000, True)
    (volume,) = server["volume_mounts"]
    named, plain = told.secrets("Server")
    assert named == {"kernel-grader"}
    assert plain["KERNEL_ENV_BIND"] == "0.0.0.0"  # where keys are asked for whatever Modal lets through
    assert plain["KERNEL_ENV_DATA_DIR"] == volume["mount_path"]
    lines = told.image("Server")
    assert lines[0].startswith("FROM nvidia/cuda:13")
    assert any("--all" in line for line in lines)
    assert any("constraints.txt" in line for line in lines)


def test_an_api_and_workers_apart(python: str) -> None:
    told = Told(python, f"{APP}::split", KERNEL_GRADER_MODAL_WORKERS="3")
    api, worker = told.function("Api"), told.function("Worker")
    assert not api["resources"]["gpu_config"]
    assert worker["resources"]["gpu_config"]["count"] == 1
    assert "http_config" not in worker
    assert worker["autoscaler_settings"] == {"min_containers": 3, "max_containers": 3}
    assert told.secrets("Api")[0] == {"kernel-grader-api"}
    named, plain = told.secrets("Worker")
    assert named == {"kernel-grader-worker"}
    # no worker host holds the secret of hidden seeds, or a key
    asked = {each.get("deployment_name"): each.get("required_keys") for each in told.all("SecretGetOrCreate")}
    assert asked["kernel-grader-worker"] == ["DATABASE_URL", "REDIS_URL"]
    assert not any("SECRET" in name or "KEY" in name for name in plain)
    assert not any("--all" in line for line in told.image("Api"))
    assert any("--all" in line for line in told.image("Worker"))


def test_what_is_uploaded_is_what_images_may_hold(told: Told) -> None:
    allowed = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    uploaded = {name.removeprefix("/app/") for name in told.files() if name.startswith("/app/")}
    assert {name if name in allowed else name.partition("/")[0] for name in uploaded} == allowed
    assert not [name for name in told.files() if "/.env" in name or "__pycache__" in name]


def test_a_container_finds_the_app_alone(python: str, tmp_path: Path) -> None:
    (tmp_path / APP.name).write_bytes(APP.read_bytes())
    subprocess.run([python, "-W", "error", "-c", "import modal_app"], cwd=tmp_path, check=True, timeout=120)


def test_the_server_of_a_container(python: str, tmp_path: Path) -> None:
    settings = {
        "API_KEY": f"kg_{'0' * 12}_{'k' * 32}",
        "PORT": str(free_port()),
        "KERNEL_ENV_BIND": "127.0.0.1",
        "KERNEL_ENV_AUTH": "1",
        "KERNEL_ENV_EVALUATOR": "mock",
        "KERNEL_ENV_DATA_DIR": str(tmp_path),
        "KERNELBENCH_DIR": str(REPOSITORY / "kernelbench_tasks"),
        "NO_PROXY": "*",
    }
    environ = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    # modal's interpreter beside this repository and its packages, as in the image
    paths = [REPOSITORY, REPOSITORY / "client" / "src", *site.getsitepackages()]
    environ["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    done = subprocess.run(
        [python, str(HERE / "modal_container.py")],
        cwd=REPOSITORY,
        env={**environ, **settings},
        input=source("correct speedup=2.0"),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"refused": 401, "verdict": "correct", "reward": 1.3}
