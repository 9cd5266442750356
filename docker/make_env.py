"""`make env`: write `.env` for docker compose, with random secrets, readable by its owner alone.

Runs with any Python 3 and nothing installed. An existing file is never touched: the volumes were made with it.
"""

import os
import platform
import secrets
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HEX_BYTES = 24


def gpus():
    """The numbers of this machine's GPUs, as its driver's device nodes tell them."""
    return sorted(int(node.name[len("nvidia") :]) for node in Path("/dev").glob("nvidia[0-9]*"))


def api_key():
    """A key of the form that `grading.keys` makes."""
    return f"kg_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def text():
    """The whole file."""
    here = gpus()
    kind = "gpu" if here else "cpu"
    secret = secrets.token_hex
    return f"""\
# Made by `make env`. Keep it: the database in its volume was created with these passwords.
# Settings of docs/configuration.md may be added here, one NAME=value a line.

# which worker starts (gpu, cpu), and more, by comma: compile (builders), monitoring (Prometheus, Grafana)
COMPOSE_PROFILES={kind + ",compile" if here else kind}
KERNEL_ENV_EVALUATOR={kind}
KERNEL_ENV_GPUS={",".join(map(str, here)) or "0"}
KERNEL_ENV_HOST={platform.node() or "localhost"}

# where the published ports listen; beyond the loopback put TLS in front
BIND_ADDRESS=127.0.0.1
API_PORT=8000
FLOWER_UI_PORT=5555
PROMETHEUS_PORT=9090
GRAFANA_PORT=3000

# hidden seeds come from this one: the API's container alone gets it
KERNEL_ENV_SECRET={secret(32)}

# registered when the database is brought up to date; revoke and replace with `python -m grading.cli keys`
API_KEY={api_key()}
METRICS_KEY={api_key()}

POSTGRES_DB=kernel_grader
POSTGRES_USER=kernel_grader
POSTGRES_PASSWORD={secret(HEX_BYTES)}
WORKER_DB_USER=kernel_grader_worker
WORKER_DB_PASSWORD={secret(HEX_BYTES)}
REDIS_PASSWORD={secret(HEX_BYTES)}
FLOWER_USER=operator
FLOWER_PASSWORD={secret(HEX_BYTES)}
GRAFANA_USER=operator
GRAFANA_PASSWORD={secret(HEX_BYTES)}
"""


def main(arguments):
    """Exit status 1, with a sentence, where there is such a file already."""
    path = Path(arguments[0]) if arguments else REPOSITORY / ".env"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        print(
            f"{path} exists and stays as it is: the volumes were made with its passwords. "
            "To begin anew, remove it and the volumes (docker compose down --volumes, which deletes all data).",
            file=sys.stderr,
        )
        return 1
    with os.fdopen(descriptor, "w") as file:
        file.write(text())
    print(f"Wrote {path}. Next: docker compose up --build --detach")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
