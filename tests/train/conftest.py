"""A whole server with the mock evaluator; and what training prints and starts kept small."""

import pytest
import torch

from tests.client.conftest import server

__all__ = ["server"]


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Models of some thousand weights are no work for two threads, which only wait for each other."""
    torch.set_num_threads(1)
