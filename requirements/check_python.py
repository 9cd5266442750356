"""Stops the installation, with a sentence, where this Python cannot run the project. Kept readable by old ones."""

import sys


def problem():
    """What is missing, as one sentence, or None."""
    if sys.version_info < (3, 11):
        have = "%d.%d" % sys.version_info[:2]  # noqa: UP031
        return "Python 3.11 or newer is needed, this is %s: install one and name it, as in `make run PYTHON=python3.12`." % have  # noqa: UP031, E501
    try:
        import ensurepip
        import venv
    except ImportError:
        return "This Python cannot create virtual environments: install its venv package (Debian: `apt install python3-venv`)."
    del ensurepip, venv
    return None


sys.exit(problem())
