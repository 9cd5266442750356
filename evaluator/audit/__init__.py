"""What a policy could exploit in a task: found by trying it, remedied where that can be proven, and written down."""
