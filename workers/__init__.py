"""Workers: one Celery process per GPU slot, which claims rows, has them graded and writes verdicts."""

import os

# SIGTERM asks for a drain that ends in time. billiard reads this when it is first imported, so it stands here.
os.environ.setdefault("REMAP_SIGTERM", "SIGQUIT")
