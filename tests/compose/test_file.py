"""What docker-compose.yml promises without being run."""

import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox.uids import LOCK_FOLDER
from launcher.commands import REPOSITORY
from tests.compose.reading import VARIABLE, Unset, fill, raw, read_env, services

SERVICES = raw()["services"]
OURS = ("migrate", "api", "reaper", "compile", "worker", "worker-cpu", "flower")
ONCE = "migrate"
# chosen by the file itself, or by what it is deployed on
FIXED = {
    *("PORT", "DATABASE_URL", "REDIS_URL", "KERNEL_ENV_DATA_DIR", "KERNEL_ENV_FLOWER_PORT", "KERNEL_ENV_BIND"),
    *("KERNEL_ENV_AUTH", "KERNEL_ENV_SECRET", "KERNEL_ENV_GPUS", "KERNELBENCH_DIR"),
}


def make_env(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", str(REPOSITORY / "docker" / "make_env.py"), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    assert make_env(tmp_path / ".env").returncode == 0
    return read_env((tmp_path / ".env").read_text())


def test_made_secrets_are_random_private_and_never_overwritten(tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_text()
    again = make_env(path)
    assert (again.returncode, path.read_text()) == (1, before)
    assert "stays as it is" in again.stderr
    other = tmp_path / "other"
    make_env(other)
    secret = {name for name in variables if re.search(r"PASSWORD|SECRET|_KEY$", name)}
    assert len(secret) == 8
    theirs = read_env(other.read_text())
    assert not {variables[name] for name in secret} & {theirs[name] for name in secret}
    assert min(len(variables[name]) for name in secret) >= 32


def test_nothing_starts_without_made_secrets() -> None:
    with pytest.raises(Unset, match="run `make env` first"):
        services({})
    text = yaml_text()
    defaults = {m["name"] for m in VARIABLE.finditer(text) if m["name"] and m["how"] != ":?"}
    assert not {name for name in defaults if re.search(r"PASSWORD|SECRET|_KEY$|USER", name)}


def yaml_text() -> str:
    return (REPOSITORY / "docker-compose.yml").read_text()


def test_every_service_is_watched_bounded_and_comes_back(variables: dict[str, str]) -> None:
    for name, service in services(variables).items():
        assert service["mem_limit"], name
        assert service["logging"]["options"]["max-size"], name
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["restart"] == ("no" if name == ONCE else "unless-stopped"), name
        assert (name == ONCE) != ("healthcheck" in service), name
        image = service["image"]
        assert re.search(r":\d+\.\d+|:v\d+\.\d+\.\d+|:local$", image), f"{name}: {image} is not pinned"


def test_start_order_is_by_health_and_by_what_is_watched() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            condition = "service_completed_successfully" if other == ONCE else "service_healthy"
            assert how["condition"] == condition, f"{name} waits for {other}"
    for name in ("api", "reaper", "worker", "worker-cpu", "compile"):
        assert {ONCE, "redis"} <= set(SERVICES[name]["depends_on"]), name


def test_every_volume_and_network_is_declared() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            place = volume.split(":")[0]
            if place.startswith("."):
                assert (REPOSITORY / place).exists(), name
            else:
                assert place == str(LOCK_FOLDER) or place in raw()["volumes"], name
        assert set(service["networks"]) <= set(raw()["networks"]), name


def test_what_confines_candidates_may_mount_and_knows_whose_each_uid_is() -> None:
    """Docker's own filters refuse pivot_root; a lock that other containers do not see lets uids be taken twice."""
    confining = [service for service in SERVICES.values() if "SYS_ADMIN" in service.get("cap_add", [])]
    assert len(confining) == 3
    for service in confining:
        assert {"apparmor:unconfined", "seccomp:unconfined"} <= set(service["security_opt"])
        assert f"{LOCK_FOLDER}:{LOCK_FOLDER}" in service["volumes"]


def test_secrets_go_only_where_they_are_needed(variables: dict[str, str]) -> None:
    held = {name: " ".join(map(str, of(service))) for name, service in services(variables).items()}

    def holders(variable: str) -> set[str]:
        return {name for name, text in held.items() if variables[variable] in text}

    assert holders("KERNEL_ENV_SECRET") == {"api"}
    assert holders("POSTGRES_PASSWORD") == {"postgres", "migrate", "api"}
    assert holders("WORKER_DB_PASSWORD") == {"migrate", "reaper", "compile", "worker", "worker-cpu"}
    assert holders("API_KEY") == {"migrate"}
    assert holders("METRICS_KEY") == {"migrate", "prometheus"}
    assert holders("FLOWER_PASSWORD") == {"flower"}
    for name, service in services(variables).items():
        command = " ".join(map(str, [service.get("command"), service.get("healthcheck", {}).get("test")]))
        leaked = [key for key, value in variables.items() if "PASSWORD" in key and value in command]
        assert not leaked, f"{name} shows {leaked} in a process list"


def of(service: dict[str, Any]) -> list[Any]:
    return [*service.get("environment", {}).values(), service.get("command"), service.get("entrypoint")]


def test_ports_are_published_on_the_loopback_alone(variables: dict[str, str]) -> None:
    published = {name: service["ports"] for name, service in services(variables).items() if "ports" in service}
    assert set(published) == {"api", "flower", "prometheus", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_every_setting_of_the_documentation_can_be_given() -> None:
    text = (REPOSITORY / "docs" / "configuration.md").read_text()
    documented = set(re.findall(r"^\| `(KERNEL_ENV_[A-Z_]+)` \|", text, re.MULTILINE)) - FIXED
    passed = set(raw()["x-settings"]) - FIXED
    assert documented == passed, "x-settings of docker-compose.yml and docs/configuration.md differ"
    for name in OURS:
        assert passed <= set(SERVICES[name]["environment"]), name


def test_filling_in_is_what_compose_does() -> None:
    text = "${A:-x} ${B:-x} ${C:-} $$HOME ${A} ${B-x} ${D-x}"
    assert fill({"k": [text]}, {"A": "1", "B": ""}) == {"k": ["1 x  $HOME 1  x"]}
