"""The files beside docker-compose.yml, for further hosts, say nothing else than it does."""

import pytest

from tests.compose.reading import raw

HERE = raw()["services"]
THERE = raw("docker-compose.workers.yml")["services"]
TLS = "${TLS_DIR:-./tls}:/tls:ro"


@pytest.mark.parametrize("name", ["compile", "worker", "worker-cpu"])
def test_a_further_host_runs_the_same_workers(name: str) -> None:
    here, there = HERE[name], THERE[name]
    differing = {key for key in {*here, *there} if here.get(key) != there.get(key)}
    assert differing == {"environment", "env_file", "depends_on", "networks", "volumes"}
    assert [*here["volumes"], TLS] == there["volumes"]
    given = {key: value for key, value in there["environment"].items() if here["environment"][key] != value}
    assert set(given) == {"DATABASE_URL", "REDIS_URL", "KERNEL_ENV_HOST"}
    assert all(value.startswith("${" + key + ":?") for key, value in given.items())


def test_a_further_host_runs_nothing_else() -> None:
    assert set(THERE) == {"compile", "worker", "worker-cpu"}


def test_tls_is_added_to_what_the_broker_is_told() -> None:
    overlay = raw("docker-compose.tls.yml")["services"]
    *shell, plain = HERE["redis"]["command"]
    *same_shell, with_tls = overlay["redis"]["command"]
    assert shell == same_shell
    more = [line for line in with_tls.splitlines() if not line.startswith("tls-")]
    assert more == plain.splitlines()
    for service in overlay.values():
        assert service["volumes"] == [TLS]
        assert all(port.startswith("${TLS_ADDRESS:?") for port in service["ports"])
