"""What goes into the images, as far as it can be told without building one."""

import re
import runpy
import subprocess
import tomllib
from typing import Any

from launcher.commands import REPOSITORY
from tests.compose.reading import raw

DOCKERFILE = (REPOSITORY / "docker" / "Dockerfile").read_text()


def packages(*, everything: bool) -> list[str]:
    made: dict[str, Any] = runpy.run_path(str(REPOSITORY / "docker" / "service_packages.py"))
    found: list[str] = made["packages"](REPOSITORY / "pyproject.toml", everything=everything)
    return found


def test_the_service_gets_everything_but_what_judges_import() -> None:
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    assert packages(everything=True) == wanted
    left_out = {re.split("[^a-z]", name)[0] for name in set(wanted) - set(packages(everything=False))}
    assert left_out == {"torch", "triton", "numpy", "einops", "ninja"}


def test_every_built_target_and_argument_is_in_the_dockerfile() -> None:
    targets = set(re.findall(r"^FROM .* AS (\S+)$", DOCKERFILE, re.MULTILINE))
    arguments = set(re.findall(r"^ARG (\w+)", DOCKERFILE, re.MULTILINE))
    built = {name: service["build"] for name, service in raw()["services"].items() if "build" in service}
    assert {build["target"] for build in built.values()} <= targets
    assert all(set(build["args"]) <= arguments for build in built.values())


def test_what_images_copy_is_sent_to_the_engine() -> None:
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert "**/.env*" in lines
    assert all((REPOSITORY / name).exists() for name in sent)
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    for name in " ".join(copied).split():
        assert name == "." or any(name == one or name.startswith(f"{one}/") for one in sent), name


def test_the_service_runs_as_nobody_in_particular() -> None:
    service = DOCKERFILE.partition(" AS service\n")[2].partition("\n# --- ")[0]
    assert service.rstrip().endswith("USER grader")


def test_scripts_are_plain_shell() -> None:
    for script in (REPOSITORY / "docker").glob("*.sh"):
        assert subprocess.run(["sh", "-n", script], timeout=30).returncode == 0
