"""`python -m launcher.migrate`: bring the database of DATABASE_URL (or of the data directory) to the present schema."""

import sys

from grading.db import Database
from grading.migrate import upgrade
from grading.settings import SettingsError, load


def main() -> int:
    """Exit status 1, with a sentence, where a setting is wrong."""
    try:
        settings = load()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    db = Database(settings.database_url)
    upgrade(db)
    db.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
