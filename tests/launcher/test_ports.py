"""The ports that the launcher and the tests give to servers of their own."""

import socket

from launcher.ports import RANGE_FILE, free_port, is_free, outgoing_ports


def test_none_is_drawn_that_the_system_lends_to_outgoing_connections() -> None:
    lent = outgoing_ports()
    if RANGE_FILE.exists():
        assert f"{lent[0]}\t{lent[-1]}" == RANGE_FILE.read_text().strip()
    assert not {free_port() for _ in range(50)} & set(lent)


def test_a_port_that_somebody_listens_on_is_not_free() -> None:
    port = free_port()
    assert is_free(port)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
    assert is_free(port)
