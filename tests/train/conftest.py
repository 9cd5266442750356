"""A whole server with the mock evaluator, and a machine that is left room for it."""

import pytest

from tests.client.conftest import server

__all__ = ["server"]


@pytest.fixture(scope="session")
def one_thread() -> None:
    """Models of some thousand weights are no work for two threads, which only wait for each other."""
    import torch  # takes seconds, and not all tests here need it

    torch.set_num_threads(1)
