#!/bin/sh
# Makes the container's own cgroups writable, where the engine allows it, so that candidates can be bounded and frozen.
# Without that the grader does without and says so in `environment.isolation`.
# Only version 2 alone: beside version 1 a container has no version 2 of its own.
if ! { [ -e /sys/fs/cgroup/cgroup.controllers ] && mount -o remount,rw /sys/fs/cgroup 2>/dev/null; }; then
    echo "cgroups stay read-only here: candidates get none of their own" >&2
fi
exec "$@"
