"""Whose objects a request sees. Without API keys there is one project, and it owns everything."""

DEFAULT_PROJECT = "default"


def current_project() -> str:
    """The id of the project that the request acts for."""
    return DEFAULT_PROJECT
