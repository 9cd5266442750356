#!/bin/sh
# Brings the database up to date, then the workers' role and the keys of .env; may run again at any time.
# Passwords and keys go in by standard input, so that no process list shows them.
set -eu
python -m launcher.migrate
printf '%s\n' "$WORKER_DB_PASSWORD" | python -m grading.cli roles --apply --name "$WORKER_DB_USER" --password-stdin
printf '%s\n' "$API_KEY" | python -m grading.cli keys adopt default --name "first key" --scope read --scope submit
printf '%s\n' "$METRICS_KEY" | python -m grading.cli keys adopt operations --name metrics --scope read
