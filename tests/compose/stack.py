"""Starts services of docker-compose.yml as plain processes: their command, their environment, no container."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from launcher.broker import find_server
from launcher.commands import REPOSITORY
from launcher.process import tied

HEALTHY_S = 150.0


class Stack:
    """`hosts` maps what the file calls a host (`redis:6379`) to where it is here; `ports` replaces variables."""

    def __init__(self, services: Mapping[str, Any], folder: Path, hosts: Mapping[str, str], ports: Mapping[str, str]):
        self._services, self._folder, self._hosts, self._ports = services, folder, hosts, ports
        self.running: dict[str, psutil.Popen] = {}
        tools = folder / "bin"
        tools.mkdir()
        (tools / "redis-server").symlink_to(find_server()[0])
        self._path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"

    def environment(self, name: str) -> dict[str, str]:
        """The service's own variables and nothing of this process's, as in a container."""
        given = {key: str(value) for key, value in self._services[name].get("environment", {}).items()}
        for host, here in self._hosts.items():
            given = {key: value.replace(host, here) for key, value in given.items()}
        given |= {key: value for key, value in self._ports.items() if key in given}
        if "KERNEL_ENV_DATA_DIR" in given:
            given["KERNEL_ENV_DATA_DIR"] = str(self._folder / name)
            given["KERNELBENCH_DIR"] = str(REPOSITORY / "kernelbench_tasks")
        return {**given, "PATH": self._path, "HOME": str(self._folder), "VIRTUAL_ENV": sys.prefix}

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def start(self, name: str) -> None:
        """Start a service's command in the background."""
        with (self._folder / f"{name}.log").open("wb") as output:
            self.running[name] = psutil.Popen(
                self._services[name]["command"],
                # a server that keeps data does so where it starts
                cwd=REPOSITORY if "KERNEL_ENV_DATA_DIR" in self.environment(name) else self._folder,
                env=self.environment(name),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=tied(),
            )

    def run(self, name: str) -> None:
        """Run a service that ends by itself."""
        self.start(name)
        assert self.running.pop(name).wait(120) == 0, self.log(name)

    def check(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run the service's health check once."""
        kind, *test = self._services[name]["healthcheck"]["test"]
        command = ["sh", "-c", test[0]] if kind == "CMD-SHELL" else test
        return subprocess.run(
            command, cwd=REPOSITORY, env=self.environment(name), capture_output=True, text=True, timeout=60
        )

    def wait_healthy(self, *names: str) -> None:
        """As Compose does before it starts what depends on them."""
        deadline = time.monotonic() + HEALTHY_S
        for name in names:
            if name == "redis" and shutil.which("redis-cli") is None:
                continue  # the wheel's server brings no client
            while (done := self.check(name)).returncode != 0:
                assert self.running[name].is_running(), self.log(name)
                assert time.monotonic() < deadline, f"{name}: {done.stdout}{done.stderr}\n{self.log(name)[-3000:]}"
                time.sleep(0.5)

    def stop(self, *names: str) -> dict[str, int]:
        """SIGTERM, as `docker compose stop` sends it; the exit codes."""
        for name in names:
            self.running[name].terminate()
        return {name: int(self.running.pop(name).wait(90)) for name in names}

    def kill(self) -> None:
        """End everything that this stack started."""
        for process in self.running.values():
            family = [*process.children(recursive=True), process]
            for each in family:
                if each.is_running():
                    each.kill()
            process.wait(30)
