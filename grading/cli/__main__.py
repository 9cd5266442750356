"""`python -m grading.cli`. Exit codes: 0 done, 1 refused or not well, 2 usage, 69 no database, 78 a wrong setting."""

import logging
import sys

import structlog
import typer
from sqlalchemy.exc import SQLAlchemyError

from grading.cli import doctor, keys, purge, roles, submissions, tasks, workers
from grading.cli.output import complain
from grading.errors import DomainError
from grading.settings import SettingsError

EX_REFUSED, EX_UNAVAILABLE, EX_CONFIG = 1, 69, 78

app = typer.Typer(
    name="python -m grading.cli",
    help="Operate an installation: keys, workers, submissions, retention, and a doctor.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(keys.app, name="keys")
app.add_typer(tasks.app, name="task")
app.command("workers")(workers.list_workers)
app.command("drain")(workers.drain)
app.command("undrain")(workers.undrain)
app.command("requeue")(submissions.requeue)
app.command("cancel")(submissions.cancel)
app.command("purge")(purge.purge)
app.command("doctor")(doctor.doctor)
app.command("roles")(roles.roles)


def main() -> None:
    """Say what went wrong in one sentence."""
    # what libraries log belongs on standard error: standard output is for answers, JSON among them
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        app()
    except SettingsError as error:
        complain(str(error))
        sys.exit(EX_CONFIG)
    except DomainError as error:
        complain(error.detail)
        sys.exit(EX_REFUSED)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        complain(f"The database refused: {reason} (`doctor` says more).")
        sys.exit(EX_UNAVAILABLE)


if __name__ == "__main__":
    main()
