"""A second host for tests: a network namespace with one cable to this one, and servers here that speak TLS on it."""

import ipaddress
import os
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from launcher.broker import find_server
from launcher.ports import free_port
from launcher.process import tied
from tests.services.installation import wait_for
from tests.services.postgres_server import PostgresServer

# pairs of addresses out of here, one pair a host
CABLES = ipaddress.ip_address("10.213.0.0")
START_S = 30.0


class NotHere(Exception):
    """This machine cannot do it, with what it said."""


def call(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


class SecondHost:
    """`here` and `there` are the addresses of the cable's ends. Raises NotHere."""

    def __init__(self) -> None:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise NotHere("needs root and iproute2")
        self.name = f"kg-{secrets.token_hex(4)}"
        first = CABLES + 4 * secrets.randbelow(2**14)
        self.here, self.there = str(first + 1), str(first + 2)
        far = f"{self.name}-b"
        try:
            call("ip", "netns", "add", self.name)
            call("ip", "link", "add", self.name, "type", "veth", "peer", "name", far, "netns", self.name)
        except subprocess.CalledProcessError as error:
            self.close()
            raise NotHere(error.stderr) from error
        call("ip", "address", "add", f"{self.here}/30", "dev", self.name)
        call("ip", "link", "set", self.name, "up")
        for command in (f"address add {self.there}/30 dev {far}", f"link set {far} up", "link set lo up"):
            call("ip", "-n", self.name, *command.split())

    def prefix(self, environment: dict[str, str]) -> list[str]:
        """Runs a command there, with these variables and no others."""
        given = [f"{name}={value}" for name, value in environment.items()]
        return ["ip", "netns", "exec", self.name, "env", "-i", *given]

    def close(self) -> None:
        """The cable goes with it."""
        with suppress(subprocess.CalledProcessError):
            call("ip", "netns", "delete", self.name)


class Certificate:
    """Self-signed, for one address: its own authority."""

    def __init__(self, folder: Path, address: str) -> None:
        self.path, self.key = folder / "server.pem", folder / "server.key"
        made = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={address}"
        call(*made.split(), "-addext", f"subjectAltName=IP:{address}", "-out", str(self.path), "-keyout", str(self.key))


def start_database(server: PostgresServer, host: SecondHost, certificate: Certificate) -> None:
    """From the second host it takes passwords, and TLS alone."""
    data = server.folder / "data"
    for source in (certificate.path, certificate.key):
        kept = Path(shutil.copy(source, data))
        os.chown(kept, data.stat().st_uid, data.stat().st_gid)
        kept.chmod(0o600)
    with (data / "pg_hba.conf").open("a") as file:
        file.write(f"hostssl all all {host.there}/32 scram-sha-256\n")
    files = (f"ssl_cert_file={certificate.path.name}", f"ssl_key_file={certificate.key.name}")
    server.start(f"listen_addresses=127.0.0.1,{host.here}", "ssl=on", *files)


class TlsBroker:
    """A Redis that speaks TLS and nothing else. Raises NotHere where the server that is installed cannot."""

    def __init__(self, host: SecondHost, certificate: Certificate, folder: Path) -> None:
        port, password = free_port(), secrets.token_hex(16)
        self.url = f"rediss://:{password}@{host.here}:{port}/0?ssl_cert_reqs=required&ssl_ca_certs={certificate.path}"
        listen = ["--port", "0", "--tls-port", str(port), "--bind", host.here, "--requirepass", password]
        files = ["--tls-cert-file", certificate.path, "--tls-key-file", certificate.key]
        trust = ["--tls-ca-cert-file", certificate.path, "--tls-auth-clients", "no"]
        keep = ["--save", "", "--dir", folder]
        log = folder / "broker.log"
        with log.open("wb") as output:
            command = [find_server()[0], *listen, *files, *trust, *keep]
            self._process = subprocess.Popen(command, stdout=output, preexec_fn=tied(signal.SIGKILL))
        wait_for(
            lambda: "Ready" in log.read_text() or self._process.poll() is not None, START_S, "a broker", log.read_text
        )
        if self._process.poll() is not None:
            raise NotHere(log.read_text())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
