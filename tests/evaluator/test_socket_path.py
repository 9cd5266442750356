"""Unix sockets under folders of any depth."""

import socket
from pathlib import Path

import pytest

from evaluator.socket_path import address


@pytest.mark.parametrize("depth", [1, 40])
def test_a_socket_is_reached_however_deep_it_lies(tmp_path: Path, depth: int) -> None:
    folder = tmp_path.joinpath(*["folder"] * depth)
    folder.mkdir(parents=True)
    path = str(folder / "judge.sock")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        with address(path) as here:
            listener.bind(here)
        listener.listen()
        with address(path) as here:
            client.connect(here)
        accepted, _ = listener.accept()
        with accepted:
            client.sendall(b"x")
            assert accepted.recv(1) == b"x"
    assert Path(path).is_socket()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), address(str(tmp_path.joinpath(*["folder"] * 40, "judge.sock"))):
        pass
