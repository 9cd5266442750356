"""The least time that a task's work can take on a known GPU."""
