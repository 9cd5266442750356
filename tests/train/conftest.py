"""A whole server with the mock evaluator."""

from tests.client.conftest import server

__all__ = ["server"]
