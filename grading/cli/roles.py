"""The database role of worker hosts, as SQL."""

import sys
from typing import Annotated

import typer

from grading import roles as rights
from grading.cli.context import operator
from grading.cli.output import complain, say


def roles(
    name: Annotated[str, typer.Option(help="How the role is called.")] = rights.DEFAULT_NAME,
    apply: Annotated[bool, typer.Option("--apply", help="Run the statements instead of printing them.")] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Also set the password that standard input holds.")
    ] = False,
) -> None:
    """Print the SQL that makes a Postgres role for worker hosts: it grades, and cannot read keys."""
    password = sys.stdin.readline().rstrip("\n") if password_stdin else None
    with operator() as here:
        if here.db.is_sqlite:
            complain("SQLite has no roles: workers on other hosts need Postgres.")
            raise typer.Exit(1)
        made = rights.statements(name, password=password)
        with here.db.engine.connect() as connection:
            if not apply:
                say(rights.text(connection, made).rstrip())
                return
            rights.apply(connection, made)
    say(f"The role {name} may claim, renew, finish and reap, and nothing else.")
