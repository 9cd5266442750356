"""`python -m tests.services`: say which database server and which broker the tests will use."""

import os

from launcher.broker import find_server
from tests.services import postgres
from tests.services.postgres_binaries import find_binaries


def main() -> None:
    named = os.environ.get("TEST_DATABASE_URL")
    running = [url for url in ([named] if named else postgres.candidates()) if postgres.answers(url)]
    if running:
        print(f"Postgres for the tests: databases of their own on the server at {running[0].rpartition('@')[2]}")
    else:
        print(f"Postgres for the tests: none runs here, so one is started from {find_binaries().source}")
    print(f"Redis for the tests: servers of their own, from {find_server()[1]}")


if __name__ == "__main__":
    main()
