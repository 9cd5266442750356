#!/bin/sh
# Puts the task set into the folder $1: KernelBench at KERNELBENCH_COMMIT, or what came with the repository.
set -eu
if [ "$TASKS" = bundled ]; then
    cp -r /bundled "$1"
    exit 0
fi
[ "$TASKS" = kernelbench ] || { echo "TASKS takes kernelbench or bundled, not $TASKS" >&2; exit 1; }
command -v git >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends git ca-certificates; }
git init --quiet /kernelbench
git -C /kernelbench fetch --quiet --depth 1 "$KERNELBENCH_URL" "$KERNELBENCH_COMMIT"
git -C /kernelbench checkout --quiet FETCH_HEAD
[ "$(git -C /kernelbench rev-parse HEAD)" = "$KERNELBENCH_COMMIT" ]
mkdir "$1"
cp -r /kernelbench/KernelBench/level* "$1"
# findings of our audit, by task; one that is not named there has not been audited
cp /bundled/audit.json "$1"
