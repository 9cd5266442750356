#!/bin/sh
# Makes the container's own cgroups writable, where the engine allows it, so that candidates can be bounded and frozen.
# Without that the grader does without and says so in `environment.isolation`.
mount -o remount,rw /sys/fs/cgroup 2>/dev/null || echo "cgroups stay read-only here: candidates get none of their own" >&2
exec "$@"
