"""The API of an installation by itself: whoever tests it is its worker."""

import httpx

from tests.services.installation import Installation, Process, wait_for

GUNICORN = ["-m", "gunicorn", "-c", "python:app.gunicorn_conf", "app.wsgi:app"]
START_S = 60.0


def url(here: Installation) -> str:
    return f"http://127.0.0.1:{here.settings.port}"


def start_api(here: Installation) -> Process:
    """A new API on the installation's port, which has answered once."""
    process = here.start(GUNICORN, "api", {})

    def up() -> bool:
        try:
            return httpx.get(f"{url(here)}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    wait_for(up, START_S, "the API", process.tail)
    return process
